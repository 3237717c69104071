/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checker finds every way in which a plan can be wrong: a good plan is broken in one place, and
 * the message must name it. */
#include "runtime/check/check.h"
#include "runtime/plan/invariant.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/routine.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/plan_parts.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* The errors of a plan as they are shown. */
static const char *errors_of(MwArena *arena, const MwPlan *plan)
{
    MwDiags *diags = mw_diags_new(arena);
    bool good = mw_plan_check(plan, diags);
    ck_assert_int_eq(good, mw_diags_error_count(diags) == 0);
    return diags_text(arena, diags);
}

START_TEST(good_plans_pass)
{
    MwArena *arena = mw_arena_new();
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        for (int micros = 1; micros <= 4; micros *= 2) {
            const char *shown = errors_of(arena, sample_plan(arena, ranks, micros));
            ck_assert_str_eq(shown, "");
        }
    }
    mw_arena_free(&arena);
}
END_TEST

/* What a kernel makes of one set is the same for all micro-batches though another set is not. */
START_TEST(sets_are_invariant_one_by_one)
{
    enum { INPUT, OF_INPUT, WEIGHT, OF_WEIGHT, BUFFERS };
    MwArena *arena = mw_arena_new();
    MwPlanKernel kernel = {.operand_count = 2, .takes_sets = true};
    MwPlanOperand operands[] = {{INPUT, MW_ACCESS_READ},
                                {OF_INPUT, MW_ACCESS_WRITE},
                                {WEIGHT, MW_ACCESS_READ},
                                {OF_WEIGHT, MW_ACCESS_WRITE}};
    MwPlanInstr instr = {
        .kind = MW_INSTR_KERNEL, .operands = operands, .operand_count = MW_COUNT(operands)};
    MwPlanProgram program = {.instrs = &instr, .instr_count = 1};
    MwPlanTask task = {.program = 0, .micro_batch = 0};
    MwPlanInput input = {.buffer = INPUT};
    MwPlanBuffer buffers[BUFFERS] = {0};
    const MwPlanMesh mesh = {.buffers = buffers,
                             .buffer_count = BUFFERS,
                             .inputs = &input,
                             .input_count = 1,
                             .programs = &program,
                             .program_count = 1,
                             .tasks = &task,
                             .task_count = 1};
    const MwPlan plan = {.kernels = &kernel, .kernel_count = 1};
    const bool *is_invariant = mw_plan_find_invariant(arena, &plan, &mesh);
    ck_assert(!is_invariant[INPUT] && !is_invariant[OF_INPUT]);
    ck_assert(is_invariant[WEIGHT] && is_invariant[OF_WEIGHT]);
    mw_arena_free(&arena);
}
END_TEST

/* Places in the sample plan, for 2 ranks and 2 micro-batches. */
typedef struct {
    MwArena *arena;
    MwPlan *plan;
    MwPlanMesh *mesh;
    MwPlanBuffer *buffers;
    MwPlanInstr *forward, *update; /* [3] each */
} Good;

enum { PREDICT, DIFF, GRADIENT };
enum { REDUCE_LOSS, REDUCE_GRADIENT, DESCEND };

#define BREAK(name, ...)                                                                           \
    static void name(Good *good)                                                                   \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

/* Makes a position that of the device `places` further along an axis. */
static void shift_position(Good *good, int axis, int places)
{
    MwPlanArg *arg = &good->forward[DIFF].args[2];
    *arg = (MwPlanArg){.kind = MW_ARG_SHIFTED,
                       .axes = arg->axes,
                       .block_stride = arg->block_stride,
                       .axis = axis,
                       .places = places};
}

/* Puts a buffer into memory of the host that has room for it alone. */
static void keep_on_host(Good *good, int buffer)
{
    good->mesh->has_host = true;
    good->mesh->host_bytes = good->buffers[buffer].bytes;
    good->buffers[buffer].offset = mw_host_begin(good->mesh->arena_bytes);
}

BREAK(no_micro_batches, good->plan->micro_batches = 0)
BREAK(more_ranks, good->plan->rank_count = 3)
BREAK(step_time, good->plan->step_s = INFINITY)
BREAK(model_work, good->plan->model_flops = -1)
BREAK(price, good->plan->has_price = true; good->plan->usd_per_h = -1)
BREAK(shifted_mesh, good->mesh->first_rank = 1)
BREAK(huge_mesh, good->mesh->shape = ((MwMeshShape){3, {1 << 20, 1 << 20, 1 << 20}}))
BREAK(no_axes, good->mesh->shape.axis_count = 0)
BREAK(kernel_name, good->plan->kernels[0].name = "a b")
BREAK(kernel_twice, good->plan->kernels[1].name = "diff")
BREAK(small_buffer, good->buffers[SAMPLE_X].bytes = 8)
BREAK(odd_offset, good->buffers[SAMPLE_X].offset += 4)
BREAK(outside, good->buffers[SAMPLE_DIFF].offset += 64)
BREAK(far_outside, good->buffers[SAMPLE_DIFF].offset = INT64_MAX / 64 * 64)
BREAK(small_arena, good->mesh->arena_bytes -= 64)
BREAK(no_host, good->mesh->has_host = true)
BREAK(outside_host, keep_on_host(good, SAMPLE_DIFF); good->mesh->host_bytes -= 64)
BREAK(input_on_host, keep_on_host(good, SAMPLE_X))
BREAK(output_on_host, keep_on_host(good, SAMPLE_PRED))
BREAK(metric_on_host, keep_on_host(good, SAMPLE_LOSS))
BREAK(accumulator_on_host, keep_on_host(good, SAMPLE_G))
BREAK(kernel_on_both, keep_on_host(good, SAMPLE_DIFF))
BREAK(kernel_of_host, good->plan->kernels[0].on_host = true)
BREAK(collective_on_host, keep_on_host(good, SAMPLE_G);
      good->mesh->weights[1].reset_each_step = false)
BREAK(input_nowhere, good->mesh->inputs[0].buffer = 99)
BREAK(input_spec, good->mesh->inputs[0].spec = mw_spec_with_dim((MwSpec){0}, 0, 2))
BREAK(input_partial, good->mesh->inputs[0].spec = mw_spec_with_partial((MwSpec){0}, 1, 0))
BREAK(input_shape, good->mesh->inputs[0].global.dim[1] = 8)
BREAK(input_in_part, good->buffers[SAMPLE_Y].bytes += 64)
BREAK(input_odd, good->mesh->inputs[0].global.dim[0] = 15)
BREAK(input_whole, good->mesh->inputs[0].whole = true)
BREAK(input_type, good->mesh->inputs[0].global.type = MW_I32)
BREAK(input_twice, good->mesh->inputs[1].name = "x")
BREAK(weight_elsewhere, good->mesh->weights[0].buffer = SAMPLE_PRED)
BREAK(weight_fleeting, good->buffers[SAMPLE_W].persistent = false)
BREAK(weight_init, good->mesh->weights[0].init = 17)
BREAK(weight_copy, good->mesh->weights[0].is_copy = true; good->mesh->weights[0].copy_of = "v")
BREAK(weight_partial, good->mesh->weights[0].spec = mw_spec_with_partial((MwSpec){0}, 1, 0))
BREAK(weight_padding, good->mesh->weights[0].is_padded = true;
      good->mesh->weights[0].padded = good->mesh->weights[0].global;
      good->mesh->weights[0].global.dim[0]++)
BREAK(loss_nowhere, good->mesh->metrics[0].buffer = 99)
BREAK(loss_vector, good->mesh->metrics[0].buffer = SAMPLE_W)
BREAK(operator_operand, good->mesh->operators[0].operands[0].operator_index = 2)
BREAK(operator_axis, good->mesh->operators[1].collectives[0].axis = 1)
BREAK(stage_mesh, good->plan->stages[0].mesh = 1)
BREAK(stage_programs, good->plan->stages[0].first_program = 1)
BREAK(stage_operators, good->plan->stages[0].operator_count = INT_MAX)
BREAK(task_program, good->mesh->tasks[0].program = 2)
BREAK(task_micro, good->mesh->tasks[0].micro_batch = 2)
BREAK(task_partly, good->mesh->tasks[2].micro_batch = 0)
BREAK(task_twice, good->mesh->tasks[1].micro_batch = 0)
BREAK(task_mixed, good->mesh->tasks[1].micro_batch = -1)
BREAK(no_tasks, good->mesh->task_count = 0)
BREAK(input_program, good->mesh->inputs[0].program = 2)
BREAK(output_update, good->mesh->outputs[0].program = 1)
BREAK(output_whole, good->mesh->outputs[1].program = 0)
BREAK(no_slots, good->buffers[SAMPLE_X].slots = 0)
BREAK(many_slots, good->buffers[SAMPLE_X].slots = INT_MAX;
      good->buffers[SAMPLE_X].bytes = ((int64_t)1 << 60) - 64)
BREAK(slots_outside, good->buffers[SAMPLE_DIFF].slots = 2)
BREAK(weight_slots, good->buffers[SAMPLE_W].slots = 2;
      good->buffers[SAMPLE_W].offset = good->mesh->arena_bytes; good->mesh->arena_bytes += 128;
      good->update[DESCEND].operands[0].buffer = SAMPLE_LOSS_PART)
BREAK(update_slots, good->buffers[SAMPLE_LOSS].slots = 2)
BREAK(instr_target, good->forward[DIFF].target = 7)
BREAK(instr_kind, good->forward[DIFF].kind = 9)
BREAK(instr_operator, good->forward[DIFF].operator_index = 2)
static int same_operators[] = {0, 0}, far_operators[] = {0, 2};
BREAK(instr_time, good->forward[DIFF].time_s = INFINITY)
BREAK(instr_work, good->forward[DIFF].has_work = true; good->forward[DIFF].flops = -1)
BREAK(mesh_rates, good->mesh->has_ceilings = true; good->mesh->flops_per_s = 1e9)
BREAK(collective_share, good->mesh->has_collective_share = true; good->mesh->collective_share = 1)
BREAK(instr_operators, good->forward[DIFF].operators = far_operators)
BREAK(instr_operators_twice, good->forward[DIFF].operators = same_operators)
BREAK(instr_one_operator, good->forward[DIFF].operator_count = 1)
BREAK(operand_nowhere, good->forward[DIFF].operands[1].buffer = -1)
BREAK(operand_count, good->forward[DIFF].operand_count = 3)
BREAK(arg_count, good->forward[DIFF].arg_count = 4)
static MwPlanBound beyond_rows[] = {{0, 0, SAMPLE_BATCH + 1, 5}};
static MwPlanBound beyond_axes[] = {{2, 0, 1, 5}};
BREAK(bound_rows, good->mesh->inputs[0].bounds = beyond_rows; good->mesh->inputs[0].bound_count = 1)
BREAK(bound_axis, good->mesh->inputs[0].bounds = beyond_axes; good->mesh->inputs[0].bound_count = 1)
BREAK(position_axes, good->forward[DIFF].args[2].axes = 2)
BREAK(position_stride, good->forward[DIFF].args[2].micro_stride = INT64_MAX)
BREAK(shifted_axis, shift_position(good, 1, 1))
BREAK(shifted_home, shift_position(good, 0, 0))
BREAK(shifted_beyond, shift_position(good, 0, 2))
BREAK(mirrored_axes, good->forward[DIFF].args[2].kind = MW_ARG_MIRRORED;
      good->forward[DIFF].args[2].axes = 2)
BREAK(shifted_whole, shift_position(good, 0, 1); good->forward[DIFF].args[2].axes = 0)
BREAK(position_runs, good->mesh->programs[0].loops[0].runs = 1 << 20;
      good->forward[DIFF].args[2].loop_stride = INT64_MAX / (1 << 20))
BREAK(position_outside, good->mesh->programs[0].loop_count = 0)
BREAK(position_of_routine,
      good->forward[PREDICT].args[MW_GEMM_A_OFFSET] = good->forward[DIFF].args[2];
      good->mesh->programs[0].loops[0].first = 0; good->mesh->programs[0].loops[0].count = 2)
BREAK(loop_beyond, good->mesh->programs[0].loops[0].count = INT_MAX)
BREAK(loop_never, good->mesh->programs[0].loops[0].runs = 0)
BREAK(loop_forever, good->mesh->programs[0].loops[0].runs = INT_MAX)
BREAK(loop_overwrites, good->mesh->programs[0].loops[0] = ((MwPlanLoop){0, 2, 2});
      good->buffers[SAMPLE_DIFF].offset = good->buffers[SAMPLE_X].offset)
BREAK(in_place, good->forward[DIFF].operands[2].buffer = SAMPLE_PRED)
BREAK(over_operand, good->buffers[SAMPLE_DIFF].offset = good->buffers[SAMPLE_PRED].offset)
BREAK(routine_access, good->forward[PREDICT].operands[0].access = MW_ACCESS_READ_WRITE)
BREAK(routine_float, good->forward[PREDICT].args[MW_GEMM_ALPHA].kind = MW_ARG_INT)
BREAK(routine_int, good->forward[PREDICT].args[MW_GEMM_M].kind = MW_ARG_FLOAT)
BREAK(gemm_rows, good->forward[PREDICT].args[MW_GEMM_M].i = 17)
BREAK(gemm_offset, good->forward[PREDICT].args[MW_GEMM_B_OFFSET].i = 16)
BREAK(gemm_negative, good->forward[PREDICT].args[MW_GEMM_B_OFFSET].i = -1)
BREAK(gemm_overflow, good->forward[PREDICT].args[MW_GEMM_LDA].i = INT64_MAX / 2)
BREAK(gemm_types, good->forward[PREDICT].args[MW_GEMM_C_TYPE].i = MW_BF16)
BREAK(gemm_products, good->buffers[SAMPLE_PRED].tensor.type = MW_TF32)
BREAK(gemm_halves, good->forward[PREDICT].args[MW_GEMM_TYPE].i = MW_F16;
      good->forward[PREDICT].args[MW_GEMM_B_TYPE].i = MW_F16)
BREAK(gemm_finished, good->forward[PREDICT].target = MW_ROUTINE_GEMM_GELU)
BREAK(gemm_bias_less, good->forward[PREDICT].target = MW_ROUTINE_GEMM_BIAS)
BREAK(gelu_adds, good->plan->backend = "cuda"; good->forward[PREDICT].target = MW_ROUTINE_GEMM_GELU;
      good->forward[PREDICT].args[MW_GEMM_BETA].f = 1)
BREAK(gelu_batches, good->plan->backend = "cuda";
      good->forward[PREDICT].target = MW_ROUTINE_GEMM_GELU;
      good->forward[PREDICT].args[MW_GEMM_BATCH0].i = 2)
BREAK(gemm_adds, good->forward[PREDICT].args[MW_GEMM_BETA].f = 1)
BREAK(collective_axis, good->update[REDUCE_LOSS].axis = 1)
BREAK(collective_target, good->update[REDUCE_LOSS].target = MW_COLLECTIVE_COUNT)
BREAK(collective_combine, good->update[REDUCE_LOSS].type = MW_I32;
      good->update[REDUCE_LOSS].combine = MW_COMBINE_LOGSUMEXP)
BREAK(collective_count, good->update[REDUCE_LOSS].count = 17)
BREAK(collective_zero, good->update[REDUCE_LOSS].count = 0)
BREAK(collective_huge, good->update[REDUCE_LOSS].count = INT64_MAX)
BREAK(collective_result, good->update[REDUCE_LOSS].target = MW_ALL_GATHER;
      good->update[REDUCE_LOSS].count = 16)
BREAK(collective_odd, good->update[REDUCE_LOSS].target = MW_REDUCE_SCATTER)
BREAK(collective_access, good->update[REDUCE_LOSS].operands[1].access = MW_ACCESS_READ)
BREAK(gather_in_place, good->update[REDUCE_GRADIENT].target = MW_ALL_TO_ALL)

/* Makes the two sums of the update parts of one, of so many elements. */
static void join_sums(Good *good, int64_t loss, int64_t gradient)
{
    const MwPlanOperand *first = good->update[REDUCE_LOSS].operands;
    const MwPlanOperand *second = good->update[REDUCE_GRADIENT].operands;
    const MwPlanOperand operands[] = {first[0], first[1], second[0], second[1]};
    const MwPlanArg args[] = {{.i = loss}, {.i = gradient}};
    MwPlanInstr *joined = &good->update[REDUCE_LOSS];
    joined->operands = mw_arena_dup(good->arena, operands, sizeof operands);
    joined->operand_count = MW_COUNT(operands);
    plan_set_args(good->arena, joined, args, MW_COUNT(args));
    joined->count += good->update[REDUCE_GRADIENT].count;
    good->update[REDUCE_GRADIENT] = good->update[DESCEND];
    good->mesh->programs[good->mesh->tasks[good->mesh->task_count - 1].program].instr_count--;
}

BREAK(parts_unsaid, join_sums(good, 1, 4); good->update[REDUCE_LOSS].arg_count = 0)
BREAK(parts_too_few, join_sums(good, 1, 3))
BREAK(parts_empty, join_sums(good, 0, 5))
BREAK(parts_not_counted, join_sums(good, 1, 4);
      good->update[REDUCE_LOSS].args[1].kind = MW_ARG_FLOAT)
BREAK(part_too_large, join_sums(good, 4, 1); good->buffers[SAMPLE_LOSS_PART].bytes = 4)
BREAK(part_access, join_sums(good, 1, 4);
      good->update[REDUCE_LOSS].operands[2].access = MW_ACCESS_WRITE)
BREAK(parts_overlap, join_sums(good, 1, 4); good->update[REDUCE_LOSS].operands[1].buffer = SAMPLE_G)

/* What the schedule shows. */
BREAK(read_early, good->forward[PREDICT].operands[0].buffer = SAMPLE_DIFF)
BREAK(read_late, good->forward[GRADIENT].operands[1].buffer = SAMPLE_LOSS;
      good->forward[GRADIENT].args[MW_GEMM_K].i = 1)
BREAK(clobbered, good->buffers[SAMPLE_DIFF].offset = good->buffers[SAMPLE_X].offset)
BREAK(clobbered_in_part, good->buffers[SAMPLE_X].bytes = 128;
      good->buffers[SAMPLE_X].tensor.dim[1] = 8; good->mesh->inputs[0].global.dim[1] = 8)
BREAK(lost_weight, good->buffers[SAMPLE_LOSS].offset = good->buffers[SAMPLE_W].offset)
BREAK(update_first, const MwPlanTask last = good->mesh->tasks[2];
      good->mesh->tasks[2] = good->mesh->tasks[0]; good->mesh->tasks[0] = last;
      good->forward[PREDICT].operands[1].buffer = SAMPLE_G;
      good->update[DESCEND].operands[0].access = MW_ACCESS_WRITE;
      good->update[REDUCE_LOSS].operands[0].buffer = SAMPLE_PRED)
BREAK(lost_output, good->buffers[SAMPLE_DIFF].offset = good->buffers[SAMPLE_PRED].offset;
      good->forward[DIFF].operands[0].buffer = SAMPLE_Y)
BREAK(lost_loss, good->buffers[SAMPLE_LOSS].offset = good->buffers[SAMPLE_Y].offset;
      good->update[DESCEND].operands[0].buffer = SAMPLE_Y)

/* Two sets for the kernel of an instruction, of which one has what it has. */
static void add_set(Good *good, MwPlanInstr *instr, int written, int read)
{
    const MwPlanOperand *own = instr->operands;
    const MwPlanOperand operands[] = {
        own[0], own[1], {written, MW_ACCESS_READ_WRITE}, {read, MW_ACCESS_READ}};
    const MwPlanArg args[] = {instr->args[0], instr->args[0]};
    good->plan->kernels[instr->target].takes_sets = true;
    instr->operands = mw_arena_dup(good->arena, operands, sizeof operands);
    instr->args = mw_arena_dup(good->arena, args, sizeof args);
    instr->operand_count = MW_COUNT(operands);
    instr->arg_count = MW_COUNT(args);
}

BREAK(sets_of_nothing, good->plan->kernels[0].takes_sets = true;
      good->plan->kernels[0].operand_count = 0)
BREAK(no_set, good->plan->kernels[1].takes_sets = true; good->update[DESCEND].operand_count = 0)
BREAK(part_of_set, add_set(good, &good->update[DESCEND], SAMPLE_X, SAMPLE_Y);
      good->update[DESCEND].operand_count = 3)
BREAK(args_of_set, add_set(good, &good->update[DESCEND], SAMPLE_X, SAMPLE_Y);
      good->update[DESCEND].arg_count = 1)
BREAK(sets_not_taken, add_set(good, &good->update[DESCEND], SAMPLE_X, SAMPLE_Y);
      good->plan->kernels[1].takes_sets = false)
BREAK(set_twice, add_set(good, &good->update[DESCEND], SAMPLE_W, SAMPLE_G))
BREAK(set_reads_written, add_set(good, &good->update[DESCEND], SAMPLE_LOSS_PART, SAMPLE_W))
BREAK(set_writes_read, add_set(good, &good->update[DESCEND], SAMPLE_G, SAMPLE_LOSS_PART))

/* Makes the product the gradient of attention of 2 queries and keys of one element; each of the 2
 * rows of a buffer has dq, dk and dv. */
static void join_rows(Good *good)
{
    enum { COUNT = 2, PARTS = 3 };
    static const int operands[] = {SAMPLE_X, SAMPLE_X,    SAMPLE_X,    SAMPLE_X,    SAMPLE_X,
                                   SAMPLE_X, SAMPLE_DIFF, SAMPLE_DIFF, SAMPLE_DIFF, SAMPLE_PRED};
    static const int ones[] = {MW_SDPA_B,     MW_SDPA_H,     MW_SDPA_G,    MW_SDPA_D,
                               MW_SDPA_Q_ROW, MW_SDPA_K_ROW, MW_SDPA_V_ROW};
    const MwRoutineInfo *info = mw_routine_info(MW_ROUTINE_SDPA_GRAD);
    MwPlanOperand given[MW_COUNT(operands)];
    MwPlanArg args[MW_SDPA_ARGS] = {{0}};
    for (int i = 0; i < MW_COUNT(operands); i++)
        given[i] = (MwPlanOperand){operands[i],
                                   info->accesses[i] == 'r' ? MW_ACCESS_READ : MW_ACCESS_WRITE};
    for (int i = 0; i < MW_COUNT(ones); i++)
        args[ones[i]].i = 1;
    args[MW_SDPA_S].i = args[MW_SDPA_T].i = COUNT;
    args[MW_SDPA_TYPE].i = MW_F32;
    for (int k = 0; k < PARTS; k++) {
        args[MW_SDPA_DQ_ROW + k].i = PARTS;
        args[MW_SDPA_DQ_OFFSET + k].i = k;
    }
    for (int i = 0; i < info->float_count; i++)
        args[info->int_count + i].kind = MW_ARG_FLOAT;
    MwPlanInstr *joined = &good->forward[PREDICT];
    *joined =
        plan_instr(good->arena, MW_INSTR_ROUTINE, MW_ROUTINE_SDPA_GRAD, given, MW_COUNT(given));
    plan_set_args(good->arena, joined, args, MW_SDPA_ARGS);
}

/* The same with another argument. */
static void misjoin_rows(Good *good, int arg, int64_t value)
{
    join_rows(good);
    good->forward[PREDICT].args[arg].i = value;
}

/* The same with an operand in another buffer. */
static void move_rows(Good *good, int operand, int buffer)
{
    join_rows(good);
    good->forward[PREDICT].operands[operand].buffer = buffer;
}

BREAK(rows_overlap, misjoin_rows(good, MW_SDPA_DK_OFFSET, 0))
BREAK(rows_swapped, misjoin_rows(good, MW_SDPA_DV_OFFSET, 3))
BREAK(rows_with_gaps, misjoin_rows(good, MW_SDPA_DQ_ROW, 4);
      good->forward[PREDICT].args[MW_SDPA_DK_ROW].i = 4;
      good->forward[PREDICT].args[MW_SDPA_DV_ROW].i = 4)
BREAK(rows_of_two_kinds, misjoin_rows(good, MW_SDPA_DQ_ROW, 4))
BREAK(rows_too_few, misjoin_rows(good, MW_SDPA_T, 1))
BREAK(rows_alone, move_rows(good, 6, SAMPLE_LOSS))
BREAK(rows_beyond, misjoin_rows(good, MW_SDPA_DQ_ROW, 30))
BREAK(rows_before, misjoin_rows(good, MW_SDPA_DQ_OFFSET, -1))
BREAK(rows_over_read, move_rows(good, 6, SAMPLE_X))
BREAK(rows_over_scratch, move_rows(good, 9, SAMPLE_DIFF))
BREAK(rows_without_args, join_rows(good); good->forward[PREDICT].arg_count = 3)

static const struct {
    void (*apply)(Good *good);
    const char *message;
} broken[] = {
    {no_micro_batches, "plan: it has 0 micro-batches"},
    {more_ranks, "plan: it is for 3 ranks; its meshes have 2"},
    {step_time, "plan: its predicted times and work are no numbers from 0 on"},
    {model_work, "plan: its predicted times and work are no numbers from 0 on"},
    {price, "plan: its price is no number from 0 on"},
    {shifted_mesh, "mesh 0 begins at rank 1"},
    {huge_mesh, "its meshes have 1152921504606846976"},
    {no_axes, "mesh 0 has no valid shape"},
    {kernel_name, "'a b', which is no C identifier"},
    {kernel_twice, "kernels 0 and 1 are both called diff"},
    {small_buffer, "buffer 3 'x' has 8 bytes; f32[4, 4] takes 64"},
    {odd_offset, "buffer 3 'x' is at offset"},
    {outside, "is outside the arena of"},
    {far_outside, "is outside the arena of"},
    {small_arena, "is outside the arena of"},
    {no_host, "its devices have 0 bytes on the host"},
    {outside_host, "is outside the"},
    {input_on_host, "input 'x' is in buffer 3, which is on the host"},
    {output_on_host, "output 'pred' is in buffer 5, which is on the host"},
    {metric_on_host, "metric 'loss' is in buffer 7, which is on the host"},
    {accumulator_on_host, "weight 'w.grad' is in buffer 1, which is on the host"},
    {kernel_on_both, "it has operands on the device and on the host"},
    {kernel_of_host, "its operands are on the device, and the kernel is not"},
    {collective_on_host, "it has operands on the host, which only kernels and copies have"},
    {input_nowhere, "mesh 0: input 'x' is in buffer 99"},
    {input_spec, "input 'x': f32[8, 4] cannot be split as [S1, R]"},
    {input_partial, "cannot be split as [R, R] +P0"},
    {input_shape, "input 'x' is f32[4, 8] on a device; its buffer 3 holds f32[4, 4]"},
    {input_in_part, "input 'y' fills 16 of the 128 bytes of buffer 4"},
    {input_odd, "input 'x' does not divide into 2 micro-batches"},
    {input_whole, "input 'x' is f32[8, 4] on a device; its buffer 3 holds f32[4, 4]"},
    {input_type, "input 'x' is i32[4, 4] on a device"},
    {input_twice, "2 inputs are called 'x'"},
    {weight_elsewhere, "weight 'w' is in buffer 5, which is not persistent"},
    {weight_fleeting, "weight 'w' is in buffer 0, which is not persistent"},
    {weight_init, "weight 'w' has no known initial value"},
    {weight_copy, "weight 'w' is a copy of 'v', but there is no such weight, split so"},
    {weight_partial, "weight 'w': f32[4] cannot be split as [R] +P0"},
    {weight_padding, "weight 'w' is f32[5], which cannot be padded to f32[4]"},
    {loss_nowhere, "metric 'loss' is in buffer 99"},
    {loss_vector, "metric 'loss' is in buffer 0, which is no single f32"},
    {operator_operand, "operator 'pred' takes the result of operator 2"},
    {operator_axis, "operator 'w.grad' communicates over axis 1"},
    {stage_mesh, "stage 0 runs on mesh 1, which does not exist"},
    {stage_programs, "stage 0 has programs that mesh 0 does not have"},
    {stage_operators, "stage 0 has operators that mesh 0 does not have"},
    {task_program, "task 0 runs program 2"},
    {task_micro, "task 0 is of micro-batch 2 of 2"},
    {task_partly, "program update runs 1 times, and there are 2 micro-batches"},
    {task_twice, "program forward runs on micro-batch 0 twice"},
    {task_mixed, "program forward runs both on micro-batches and without one"},
    {no_tasks, "no program runs on the micro-batches"},
    {input_program, "input 'x' belongs to program 2, which does not exist"},
    {output_update, "output 'pred' belongs to program update, which runs on no micro-batch"},
    {output_whole, "output 'loss' is whole and belongs to program 0"},
    {no_slots, "buffer 3 'x' has 0 slots of 64 bytes"},
    {many_slots, "buffer 3 'x' has 2147483647 slots of 1152921504606846912 bytes"},
    {slots_outside, "buffer 6 'a "},
    {weight_slots, "setting the weights uses buffer 0 'w', which has 2 slots, without"},
    {update_slots, "program update uses buffer 7 'loss', which has 2 slots, without"},
    {instr_target, "program forward, instruction 1 (unknown): there is no such"},
    {instr_kind, "program forward, instruction 1 (unknown): there is no such"},
    {instr_operator, "program forward, instruction 1 (diff): it is of operator 2"},
    {instr_time, "instruction 1 (diff): its predicted time is no number of seconds"},
    {instr_work, "instruction 1 (diff): its work is no number of FLOPs and bytes"},
    {mesh_rates, "its devices have no possible rates"},
    {collective_share, "collectives take 1 of its devices"},
    {instr_operators, "instruction 1 (diff): its operators do not ascend from 0 to 1"},
    {instr_operators_twice, "instruction 1 (diff): its operators do not ascend from 0 to 1"},
    {instr_one_operator, "instruction 1 (diff): it is of several operators, of which it names 1"},
    {operand_nowhere, "operand 1 is buffer -1"},
    {operand_count, "it has 3 operands and 5 arguments; it takes 4 and 5"},
    {arg_count, "it has 4 operands and 4 arguments; it takes 4 and 5"},
    {sets_of_nothing, "plan: kernel diff takes sets of no operands"},
    {no_set, "it has 0 operands and 1 arguments; it takes 2 and 1"},
    {part_of_set, "it has 3 operands and 2 arguments; it takes 2 and 1"},
    {args_of_set, "it has 4 operands and 1 arguments; it takes 4 and 2"},
    {sets_not_taken, "it has 4 operands and 2 arguments; it takes 2 and 1"},
    {set_twice, "(descend): operands 0 and 2 lie over each other, and it writes"},
    {set_reads_written, "(descend): operands 0 and 3 lie over each other, and it writes"},
    {set_writes_read, "(descend): operands 1 and 2 lie over each other, and it writes"},
    {bound_rows, "input 'x', bound 0: below 5 in [0, 17) of axis 0 is none of it"},
    {bound_axis, "input 'x', bound 0: below 5 in [0, 1) of axis 2 is none of it"},
    {position_axes, "argument 2 is a position on axes that do not exist"},
    {position_stride, "argument 2 is a position with strides"},
    {shifted_axis, "argument 2 is of a device 1 places along axis 1"},
    {shifted_home, "argument 2 is of a device 0 places along axis 0"},
    {shifted_beyond, "argument 2 is of a device 2 places along axis 0"},
    {mirrored_axes, "argument 2 is a position on axes that do not exist"},
    {shifted_whole, "argument 2 is of a device 1 places along axis 0"},
    {position_runs, "argument 2 is a position with strides"},
    {position_outside, "argument 2 moves on with the runs of a loop, and it is in none"},
    {position_of_routine, "argument 19 moves on with the runs of a loop, which only kernels do"},
    {loop_beyond, "program forward, loop 0 has instructions 1 to 2147483647 of 3, after 0"},
    {loop_never, "program forward, loop 0 runs 0 times"},
    {loop_forever, "program forward, loop 0 runs 2147483647 times"},
    {loop_overwrites, "instruction 0 (gemm): reads buffer 3 'x', which program forward, "
                      "instruction 1 (diff) has overwritten"},
    {in_place, "operands 0 and 2 lie over each other"},
    {over_operand, "operands 0 and 2 lie over each other"},
    {routine_access, "instruction 0 (gemm): operand 0 is read or written as it must not"},
    {routine_float, "argument 22 is no float"},
    {routine_int, "argument 2 is a float"},
    {gemm_rows, "it reaches 272 bytes of operand 0, whose buffer has 64"},
    {gemm_offset, "it reaches 80 bytes of operand 1, whose buffer has 64"},
    {gemm_negative, "its arguments are not valid"},
    {gemm_overflow, "its arguments are not valid"},
    {gemm_types, "its arguments are not valid"},
    {gemm_products, "has no valid type or shape"},
    {gemm_halves, "it takes f32 and bf16 alone on this backend"},
    {gemm_finished, "instruction 0 (gemm_gelu): it is no routine of this backend"},
    {gemm_bias_less,
     "instruction 0 (gemm_bias): it has 3 operands and 24 arguments; it takes 4 and 24"},
    {gelu_adds, "instruction 0 (gemm_gelu): it adds to operand 2 without reading it"},
    {gelu_batches, "instruction 0 (gemm_gelu): its arguments are not valid"},
    {gemm_adds, "it adds to operand 2 without reading it"},
    {collective_axis, "program update, instruction 0 (all_reduce): axis 1 does not exist"},
    {collective_target, "there is no such instruction"},
    {collective_combine, "its elements cannot be combined so"},
    {collective_count, "its source needs 17 elements of f32; buffer 2 has 64 bytes"},
    {collective_zero, "0 elements do not divide among 2 devices"},
    {collective_huge, "its source needs 9223372036854775807 elements"},
    {collective_result, "its destination needs 32 elements of f32; buffer 7 has 64 bytes"},
    {collective_odd, "1 elements do not divide among 2 devices"},
    {collective_access, "it must read its first operand and write its second"},
    {gather_in_place, "operands 0 and 1 lie over each other"},
    {parts_unsaid, "it has 4 operands and 0 arguments; it takes 4 and 2"},
    {parts_too_few, "its parts have not 5 elements together"},
    {parts_empty, "its parts have not 5 elements together"},
    {parts_not_counted, "its parts have not 5 elements together"},
    {part_too_large, "its source needs 4 elements of f32; buffer"},
    {part_access, "it must read its first operand and write its second, in part 1"},
    {parts_overlap, "operands 1 and 2 lie over each other"},
    {read_early, "program forward, instruction 0 (gemm): reads buffer 6 "},
    {read_late, "program forward, instruction 2 (gemm): reads buffer 7 'loss' before"},
    {clobbered, "instruction 2 (gemm): reads buffer 3 'x', which program forward, instruction 1 "
                "(diff) has overwritten with buffer 6"},
    {clobbered_in_part, "buffer 3 'x', which filling the inputs has overwritten with buffer 4 'y'"},
    {lost_weight,
     "instruction 2 (descend): reads buffer 0 'w', which program update, instruction 0 "
     "(all_reduce) has overwritten with buffer 7 'loss'"},
    {update_first, "program update, instruction 0 (all_reduce): reads buffer 5 'pred' before"},
    {lost_output,
     "taking the outputs: reads buffer 5 'pred', which program forward, instruction 1"},
    {lost_loss, "reads buffer 7 'loss', which program update, instruction 2 (descend)"},
    {rows_overlap, "(sdpa_grad): the rows of its results overlap, or have gaps"},
    {rows_swapped, "(sdpa_grad): the rows of its results overlap, or have gaps"},
    {rows_with_gaps, "(sdpa_grad): the rows of its results overlap, or have gaps"},
    {rows_of_two_kinds, "(sdpa_grad): the rows of its results overlap, or have gaps"},
    {rows_too_few, "(sdpa_grad): the rows of its results overlap, or have gaps"},
    {rows_alone, "(sdpa_grad): the rows of its results overlap, or have gaps"},
    {rows_beyond, "(sdpa_grad): it reaches 124 bytes of operand 6, whose buffer has 64"},
    {rows_before, "(sdpa_grad): its arguments are not valid"},
    {rows_over_read, "(sdpa_grad): operands 0 and 6 lie over each other, and it writes"},
    {rows_over_scratch, "(sdpa_grad): operands 6 and 9 lie over each other, and it writes"},
    {rows_without_args, "(sdpa_grad): it has 10 operands and 3 arguments; it takes 10 and 31"},
};

static Good good_plan(MwArena *arena)
{
    MwPlan *plan = sample_plan(arena, 2, 2);
    MwPlanMesh *mesh = &plan->meshes[0];
    return (Good){
        arena, plan, mesh, mesh->buffers, mesh->programs[0].instrs, mesh->programs[1].instrs};
}

START_TEST(collectives_may_be_parts_of_one)
{
    MwArena *arena = mw_arena_new();
    Good good = good_plan(arena);
    join_sums(&good, 1, 4);
    ck_assert_str_eq(errors_of(arena, good.plan), "");
    mw_arena_free(&arena);
}
END_TEST

START_TEST(results_may_be_parts_of_rows)
{
    MwArena *arena = mw_arena_new();
    Good good = good_plan(arena);
    join_rows(&good);
    ck_assert_str_eq(errors_of(arena, good.plan), "");
    mw_arena_free(&arena);
}
END_TEST

START_TEST(a_broken_plan_is_found_out)
{
    MwArena *arena = mw_arena_new();
    Good good = good_plan(arena);
    broken[_i].apply(&good);
    const char *shown = errors_of(arena, good.plan);
    ck_assert_msg(strstr(shown, broken[_i].message), "expected: %s\nshown: %s", broken[_i].message,
                  shown);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_check");
    TCase *tests = tcase_create("plan_check");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, good_plans_pass);
    tcase_add_test(tests, sets_are_invariant_one_by_one);
    tcase_add_test(tests, collectives_may_be_parts_of_one);
    tcase_add_test(tests, results_may_be_parts_of_rows);
    tcase_add_loop_test(tests, a_broken_plan_is_found_out, 0, MW_COUNT(broken));
    return run_suite(suite);
}
