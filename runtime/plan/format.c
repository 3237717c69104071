/* SPDX-License-Identifier: MIT */
#include "runtime/plan/format.h"

/* A field of `owner`: its name in the text, its kind, its member; then what MwPlanField adds. */
#define FIELD(word, kind_, member, ...)                                                            \
    {                                                                                              \
        .name = word, .kind = &mw_plan_##kind_, .offset = (int)offsetof(OWNER, member),            \
        __VA_ARGS__                                                                                \
    }
#define MORE(member) .more = (int)offsetof(OWNER, member)
#define PRESENT(member) .present = (int)offsetof(OWNER, member)

#define ONE(member, record)                                                                        \
    {                                                                                              \
        .shape = MW_PLAN_ONE, .records = &(record), .record_count = 1,                             \
        .offset = (int)offsetof(OWNER, member)                                                     \
    }
#define LIST(member, count, record)                                                                \
    {                                                                                              \
        .shape = MW_PLAN_LIST, .records = &(record), .record_count = 1,                            \
        .offset = (int)offsetof(OWNER, member), .count_offset = (int)offsetof(OWNER, count)        \
    }

#define RECORD(word, field_array, ...)                                                             \
    {                                                                                              \
        .keyword = word, .bytes = sizeof(OWNER), .fields = field_array,                            \
        .field_count = MW_COUNT(field_array), __VA_ARGS__                                          \
    }
#define PARTS(part_array) .parts = part_array, .part_count = MW_COUNT(part_array)

#define OWNER MwPlanCosts
static const MwPlanField costs_fields[] = {
    FIELD("objective_s", number, objective_s), FIELD("lower_bound_s", number, lower_bound_s),
    FIELD("compute_s", number, compute_s),     FIELD("communication_s", number, communication_s),
    FIELD("step_s", number, step_s),           FIELD("live_bytes", size, live_bytes),
};
static const MwPlanRecord costs_record = RECORD("costs", costs_fields);
#undef OWNER

#define OWNER MwPlanBuffer
static const MwPlanField buffer_fields[] = {
    FIELD("name", string, name),   FIELD("tensor", tensor, tensor),
    FIELD("offset", size, offset), FIELD("bytes", size, bytes),
    FIELD("slots", count, slots),  FIELD("persistent", flag, persistent),
};
static const MwPlanRecord buffer_record = RECORD("buffer", buffer_fields);
#undef OWNER

#define OWNER MwPlanBound
static const MwPlanField bound_fields[] = {
    FIELD("axis", count, axis),
    FIELD("begin", size, begin),
    FIELD("end", size, end),
    FIELD("below", size, below),
};
static const MwPlanRecord bound_record = RECORD("bound", bound_fields);
#undef OWNER

#define OWNER MwPlanInput
static const MwPlanField input_fields[] = {
    FIELD("name", string, name),
    FIELD("buffer", count, buffer),
    FIELD("global", tensor, global),
    FIELD("padded", tensor, padded, PRESENT(is_padded)),
    FIELD("spec", spec, spec, MORE(global)),
    FIELD("whole", flag, whole),
    FIELD("program", count, program),
};
static const MwPlanPart input_parts[] = {LIST(bounds, bound_count, bound_record)};
static const MwPlanRecord input_record = RECORD("input", input_fields, PARTS(input_parts));
#undef OWNER

#define OWNER MwPlanOutput
static const MwPlanField output_fields[] = {
    FIELD("name", string, name),
    FIELD("buffer", count, buffer),
    FIELD("global", tensor, global),
    FIELD("padded", tensor, padded, PRESENT(is_padded)),
    FIELD("spec", spec, spec, MORE(global)),
    FIELD("whole", flag, whole),
    FIELD("program", index, program),
};
static const MwPlanRecord output_record = RECORD("output", output_fields);
#undef OWNER

#define OWNER MwPlanMetric
static const MwPlanField metric_fields[] = {
    FIELD("name", string, name),
    FIELD("index", count, index),
    FIELD("buffer", count, buffer),
    FIELD("minimised", flag, minimised),
};
static const MwPlanRecord metric_record = RECORD("metric", metric_fields);
#undef OWNER

#define OWNER MwPlanWeight
static const MwPlanField weight_fields[] = {
    FIELD("name", string, name),
    FIELD("buffer", count, buffer),
    FIELD("global", tensor, global),
    FIELD("padded", tensor, padded, PRESENT(is_padded)),
    FIELD("spec", spec, spec, MORE(global)),
    FIELD("init", init, init),
    FIELD("value", number, init_value),
    FIELD("state", flag, is_state),
    FIELD("copy_of", string, copy_of, PRESENT(is_copy)),
    FIELD("reset_each_step", flag, reset_each_step),
};
static const MwPlanRecord weight_record = RECORD("weight", weight_fields);
#undef OWNER

#define OWNER MwPlanCollective
static const MwPlanField reshard_fields[] = {
    FIELD("kind", collective, kind),
    FIELD("axis", count, axis),
    FIELD("bytes", size, bytes),
    FIELD("time_s", number, time_s),
};
static const MwPlanRecord reshard_record = RECORD("reshard", reshard_fields);
#undef OWNER

#define OWNER MwPlanOperator
static const MwPlanField operator_fields[] = {
    FIELD("name", string, name),
    FIELD("op", string, op),
    FIELD("source", string, source),
    FIELD("phase", string, phase),
    FIELD("type", type, type),
    FIELD("spec", own_spec, spec, MORE(rank)),
    FIELD("operands", operator_operands, operands, MORE(operand_count)),
    FIELD("compute_s", number, compute_s),
    FIELD("communication_s", number, communication_s),
    FIELD("runner_up", same_spec, runner_up, MORE(rank), PRESENT(has_runner_up)),
    FIELD("runner_up_extra_s", number, runner_up_extra_s, PRESENT(has_runner_up)),
    FIELD("pinned", flag, pinned),
};
static const MwPlanPart operator_parts[] = {LIST(collectives, collective_count, reshard_record)};
static const MwPlanRecord operator_record =
    RECORD("operator", operator_fields, PARTS(operator_parts));
#undef OWNER

#define OWNER MwPlanInstr
/* The fields of every instruction after its target. */
#define INSTR_FIELDS                                                                               \
    FIELD("operands", operands, operands, MORE(operand_count)),                                    \
        FIELD("args", args, args, MORE(arg_count)), FIELD("operator", index, operator_index),      \
        FIELD("operators", counts, operators, MORE(operator_count), PRESENT(has_operators)),       \
        FIELD("time_s", number, time_s), FIELD("flops", number, flops, PRESENT(has_work)),         \
        FIELD("bytes", number, work_bytes, PRESENT(has_work))
static const MwPlanField kernel_instr_fields[] = {FIELD("target", kernel, target), INSTR_FIELDS};
static const MwPlanField routine_instr_fields[] = {FIELD("target", routine, target), INSTR_FIELDS};
static const MwPlanField collective_instr_fields[] = {
    FIELD("target", collective, target), FIELD("axis", count, axis),
    FIELD("type", type, type),           FIELD("count", size, count),
    FIELD("combine", combine, combine),  INSTR_FIELDS,
};
static const MwPlanField transfer_instr_fields[] = {FIELD("target", count, target), INSTR_FIELDS};
static const MwPlanRecord instr_records[] = {
    [MW_INSTR_KERNEL] = RECORD("kernel", kernel_instr_fields),
    [MW_INSTR_ROUTINE] = RECORD("routine", routine_instr_fields),
    [MW_INSTR_COLLECTIVE] = RECORD("collective", collective_instr_fields),
    [MW_INSTR_SEND] = RECORD("send", transfer_instr_fields),
    [MW_INSTR_RECEIVE] = RECORD("receive", transfer_instr_fields),
};
#undef OWNER

#define OWNER MwPlanLoop
static const MwPlanField loop_fields[] = {
    FIELD("first", count, first),
    FIELD("count", count, count),
    FIELD("runs", count, runs),
};
static const MwPlanRecord loop_record = RECORD("loop", loop_fields);
#undef OWNER

#define OWNER MwPlanProgram
static const MwPlanField program_fields[] = {FIELD("name", string, name)};
static const MwPlanPart program_parts[] = {
    {.shape = MW_PLAN_LIST,
     .records = instr_records,
     .record_count = MW_COUNT(instr_records),
     .kind_offset = (int)offsetof(MwPlanInstr, kind),
     .offset = (int)offsetof(MwPlanProgram, instrs),
     .count_offset = (int)offsetof(MwPlanProgram, instr_count)},
    LIST(loops, loop_count, loop_record),
};
static const MwPlanRecord program_record = RECORD("program", program_fields, PARTS(program_parts));
#undef OWNER

#define OWNER MwPlanTask
static const MwPlanField task_fields[] = {
    FIELD("program", program, program),
    FIELD("micro_batch", index, micro_batch),
};
static const MwPlanRecord task_record = RECORD("task", task_fields);
#undef OWNER

#define OWNER MwPlanMesh
static const MwPlanField mesh_fields[] = {
    FIELD("shape", shape, shape),
    FIELD("first_rank", count, first_rank),
    FIELD("arena_bytes", size, arena_bytes),
    FIELD("host_bytes", size, host_bytes, PRESENT(has_host)),
    FIELD("flops_per_s", number, flops_per_s, PRESENT(has_ceilings)),
    FIELD("bytes_per_s", number, bytes_per_s, PRESENT(has_ceilings)),
    FIELD("collective_share", number, collective_share, PRESENT(has_collective_share)),
};
static const MwPlanPart mesh_parts[] = {
    ONE(costs, costs_record),
    LIST(buffers, buffer_count, buffer_record),
    LIST(inputs, input_count, input_record),
    LIST(outputs, output_count, output_record),
    LIST(metrics, metric_count, metric_record),
    LIST(weights, weight_count, weight_record),
    LIST(operators, operator_count, operator_record),
    LIST(programs, program_count, program_record),
    LIST(tasks, task_count, task_record),
};
const MwPlanRecord mw_plan_mesh_record = RECORD("mesh", mesh_fields, PARTS(mesh_parts));
#undef OWNER

#define OWNER MwPlanOption
static const MwPlanField option_fields[] = {
    FIELD("name", string, name),
    FIELD("value", string, value),
};
static const MwPlanRecord option_record = RECORD("option", option_fields);
#undef OWNER

#define OWNER MwPlanCommand
static const MwPlanField command_fields[] = {
    FIELD("model", string, model),
    FIELD("model_hash", string, model_hash),
    FIELD("cluster_hash", string, cluster_hash),
};
static const MwPlanPart command_parts[] = {LIST(options, option_count, option_record)};
static const MwPlanRecord command_record = RECORD("command", command_fields, PARTS(command_parts));
#undef OWNER

#define OWNER MwPlanKernel
static const MwPlanField kernel_fields[] = {
    FIELD("name", string, name),     FIELD("operands", count, operand_count),
    FIELD("args", count, arg_count), FIELD("sets", flag, takes_sets),
    FIELD("host", flag, on_host),
};
static const MwPlanRecord kernel_record = RECORD("kernel", kernel_fields);
#undef OWNER

#define OWNER MwPlanTransfer
static const MwPlanField transfer_fields[] = {
    FIELD("name", string, name),
    FIELD("tensor", tensor, tensor),
    FIELD("from_mesh", count, from_mesh),
    FIELD("from_buffer", count, from_buffer),
    FIELD("from_spec", spec, from_spec, MORE(tensor)),
    FIELD("to_mesh", count, to_mesh),
    FIELD("to_buffer", count, to_buffer),
    FIELD("to_spec", spec, to_spec, MORE(tensor)),
    FIELD("broadcast", flag, broadcast),
    FIELD("time_s", number, time_s),
};
static const MwPlanRecord transfer_record = RECORD("transfer", transfer_fields);
#undef OWNER

#define OWNER MwPlanStage
static const MwPlanField stage_fields[] = {
    FIELD("mesh", count, mesh),
    FIELD("first_layer", count, first_layer),
    FIELD("layers", count, layer_count),
    FIELD("remat_layers", count, remat_layers),
    FIELD("selective_layers", count, selective_layers),
    FIELD("streamed_layers", count, streamed_layers, PRESENT(streams)),
    FIELD("forward_s", number, forward_s),
    FIELD("backward_s", number, backward_s),
    FIELD("weight_s", number, weight_s),
    FIELD("update_s", number, update_s),
    FIELD("first_program", count, first_program),
    FIELD("programs", count, program_count),
    FIELD("first_operator", count, first_operator),
    FIELD("operators", count, operator_count),
};
static const MwPlanRecord stage_record = RECORD("stage", stage_fields);
#undef OWNER

#define OWNER MwPlanAlternative
static const MwPlanField alternative_fields[] = {
    FIELD("name", string, name),
    FIELD("reason", string, reason),
    FIELD("step_s", number, step_s),
    FIELD("needed_bytes", size, needed_bytes),
};
static const MwPlanRecord alternative_record = RECORD("alternative", alternative_fields);
#undef OWNER

#define OWNER MwPlan
static const MwPlanField plan_fields[] = {
    FIELD("model", string, model),
    FIELD("source", string, source),
    FIELD("cluster", string, cluster),
    FIELD("backend", string, backend),
    FIELD("ranks", count, rank_count),
    FIELD("micro_batches", count, micro_batches),
    FIELD("schedule", string, schedule),
    FIELD("step_s", number, step_s),
    FIELD("device_bytes", size, device_bytes),
    FIELD("model_flops", number, model_flops),
    FIELD("model_peak_s", number, model_peak_s),
    FIELD("usd_per_h", number, usd_per_h, PRESENT(has_price)),
};
static const MwPlanPart plan_parts[] = {
    ONE(command, command_record),
    LIST(kernels, kernel_count, kernel_record),
    {.shape = MW_PLAN_TEXT,
     .keyword = "kernel_source",
     .offset = (int)offsetof(MwPlan, kernel_source)},
    LIST(meshes, mesh_count, mw_plan_mesh_record),
    LIST(transfers, transfer_count, transfer_record),
    LIST(stages, stage_count, stage_record),
    LIST(alternatives, alternative_count, alternative_record),
};
const MwPlanRecord mw_plan_record = RECORD("plan", plan_fields, PARTS(plan_parts));
#undef OWNER
