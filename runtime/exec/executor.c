/* SPDX-License-Identifier: MIT */
#include "runtime/exec/executor.h"

#include "base/vec.h"
#include "runtime/exec/executor_data.h"
#include "runtime/exec/executor_state.h"

#include <string.h>

const MwPlanMesh *mw_executor_mesh(const MwExecutor *executor)
{
    return executor->mesh;
}

void *mw_executor_buffer(const MwExecutor *executor, int buffer)
{
    return mw_executor_slot(executor, buffer, -1);
}

/* ---- Setting up ---- */

/* Allocates what the largest instruction takes. */
static void alloc_call(MwExecutor *executor, MwArena *arena)
{
    const MwPlanMesh *mesh = executor->mesh;
    int args = 0, operands = 0;
    for (int p = 0; p < mesh->program_count; p++) {
        for (int i = 0; i < mesh->programs[p].instr_count; i++) {
            args = (int)mw_max(args, mesh->programs[p].instrs[i].arg_count);
            operands = (int)mw_max(operands, mesh->programs[p].instrs[i].operand_count);
        }
    }
    executor->args = MW_NEW(arena, MwKernelArg, args);
    executor->operands = MW_NEW(arena, void *, operands);
    executor->operand_bytes = MW_NEW(arena, int64_t, operands);
    executor->parts = MW_NEW(arena, MwExchange, operands / 2);
}

static bool make_commands(MwExecutor *executor, MwArena *arena, bool has_graphs, MwFault *fault)
{
    MwDevice *device = executor->device;
    const bool overlaps = device->table->make_events && executor->mesh->has_host &&
                          !executor->trace; /* which times one after another */
    executor->commands = mw_step_commands(
        arena, executor->mesh, mw_endpoints_traffic(executor->endpoints),
        executor->transport->queue, overlaps ? MW_QUEUE_COPIES : MW_QUEUE_COMPUTE, has_graphs);
    return executor->commands.event_count == 0 ||
           device->table->make_events(device, arena, executor->commands.event_count, fault);
}

/* True if work can be captured: what the host gives and takes lies where the device reaches it, the
 * host computes nothing in between, collectives need no host, and instructions are not timed. */
static bool can_capture(const MwExecutor *executor)
{
    return executor->device->table->begin_capture && executor->host_slots &&
           executor->transport->is_queued && !executor->trace && !executor->mesh->has_host;
}

static void make_graphs(MwExecutor *executor, MwArena *arena)
{
    const MwCommandList *list = &executor->commands;
    const int count = list->is_one_graph ? MW_STEP_SLOTS : list->captured_count;
    if (!count)
        return;
    executor->is_captured = MW_NEW(arena, bool, count);
    executor->device->table->make_graphs(executor->device, arena, count);
}

/* "send h" */
static void make_labels(MwExecutor *executor, MwArena *arena)
{
    static const char *const verbs[MW_TRAFFIC_KINDS] = {[MW_TRAFFIC_WAIT] = "wait for",
                                                        [MW_TRAFFIC_WAIT_ALL] = "wait for all",
                                                        [MW_TRAFFIC_SEND] = "send",
                                                        [MW_TRAFFIC_RECEIVE] = "receive"};
    const MwTraffic *traffic = mw_endpoints_traffic(executor->endpoints);
    executor->labels =
        mw_arena_alloc(arena, sizeof *executor->labels * (size_t)traffic->endpoint_count);
    for (int e = 0; e < traffic->endpoint_count; e++)
        for (int k = 0; k < MW_TRAFFIC_KINDS; k++)
            executor->labels[e][k] =
                mw_arena_printf(arena, "%s %s", verbs[k],
                                executor->plan->transfers[traffic->endpoints[e].transfer].name);
}

MwExecutor *mw_executor_new(MwArena *arena, const MwPlan *plan, MwDevice *device,
                            MwTransport *transport, MwTrace *trace, MwFault *fault)
{
    MwExecutor *executor = MW_NEW(arena, MwExecutor, 1);
    const MwPlanMesh *mesh = mw_plan_mesh_of_rank(plan, transport->rank);
    *executor = (MwExecutor){.arena = arena,
                             .plan = plan,
                             .mesh = mesh,
                             .device = device,
                             .transport = transport,
                             .trace = trace};
    mw_mesh_coordinates(&mesh->shape, transport->rank - mesh->first_rank, executor->coordinate);
    if (!transport->table->make_groups(transport, &mesh->shape, mesh->first_rank, fault))
        return NULL;
    executor->memory = transport->table->alloc_arena(transport, device, mesh->arena_bytes, fault);
    if (!executor->memory)
        return NULL;
    if (mesh->has_host) {
        executor->host = device->table->alloc_kept(device, mesh->host_bytes, fault);
        if (!executor->host)
            return NULL;
    }
    executor->endpoints =
        mw_endpoints_new(arena, plan, mesh, device, transport, executor->memory, fault);
    if (!executor->endpoints || !mw_executor_alloc_data(executor, arena, fault) ||
        !make_commands(executor, arena, can_capture(executor), fault))
        return NULL;
    executor->exchanges = MW_NEW(arena, MwExchanges, 1);
    mw_exchanges_add(arena, executor->exchanges, mesh, executor->memory);
    executor->zeros = mw_weights_zero_ranges(arena, mesh, &executor->zero_count);
    alloc_call(executor, arena);
    make_labels(executor, arena);
    make_graphs(executor, arena);
    return executor;
}

/* What the steps of an executor beside another change, and where it lies. */
static MwSavedWeights save_places(MwArena *arena, const MwExecutor *beside)
{
    const MwPlanMesh *mesh = beside->mesh;
    void **at = MW_NEW(arena, void *, mesh->weight_count);
    for (int i = 0; i < mesh->weight_count; i++)
        at[i] = mw_executor_buffer(beside, mesh->weights[i].buffer);
    return mw_saved_weights(arena, mesh, at);
}

MwExecutor *mw_executor_beside(MwArena *arena, const MwExecutor *executor, const MwPlan *plan,
                               MwFault *fault)
{
    MwExecutor *beside = mw_arena_dup(arena, executor, sizeof *executor);
    const MwPlanMesh *mesh = mw_plan_mesh_of_rank(plan, executor->transport->rank);
    MW_ASSERT(mw_plan_mesh_end(mesh) == mw_plan_mesh_end(executor->mesh));
    beside->plan = plan;
    beside->mesh = mesh;
    beside->beside = executor;
    beside->replays = false;
    beside->trace = NULL; /* which is of the other plan */
    beside->endpoints = mw_endpoints_new(arena, plan, mesh, executor->device, executor->transport,
                                         executor->memory, fault);
    if (!beside->endpoints || !make_commands(beside, arena, false, fault))
        return NULL;
    mw_exchanges_add(arena, beside->exchanges, mesh, beside->memory);
    const int64_t slot_bytes = mw_executor_place_data(beside, arena);
    MW_ASSERT(slot_bytes <= executor->host_slot_bytes || !executor->host_slots);
    make_labels(beside, arena);
    beside->saved = save_places(arena, beside);
    return beside;
}

static bool init_weight(const MwExecutor *executor, int index, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    return mw_weight_init(executor->device, mesh, executor->coordinate, index, executor->seed,
                          mw_executor_buffer(executor, mesh->weights[index].buffer), fault);
}

static bool init_weights(const MwExecutor *executor, MwFault *fault)
{
    for (int i = 0; i < executor->mesh->weight_count; i++)
        if (!init_weight(executor, i, fault))
            return false;
    return true;
}

static bool reset_accumulators(const MwExecutor *executor, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    for (int i = 0; i < executor->zero_count; i++)
        if (!executor->device->table->zero(
                executor->device, executor->memory + executor->zeros[i].begin,
                executor->zeros[i].end - executor->zeros[i].begin, fault))
            return false;
    for (int i = 0; i < mesh->weight_count; i++)
        if (mesh->weights[i].reset_each_step && mesh->weights[i].init != MW_INIT_ZEROS &&
            !init_weight(executor, i, fault))
            return false;
    return true;
}

bool mw_executor_start(MwExecutor *executor, uint64_t seed, MwFault *fault)
{
    executor->seed = seed;
    return executor->transport->table->connect(executor->transport, executor->device,
                                               executor->exchanges->at, executor->exchanges->count,
                                               fault) &&
           init_weights(executor, fault);
}

/* ---- Instructions ---- */

/* A run of an instruction: `run` is that of the loop that it is in. */
typedef struct {
    const MwPlanTask *task;
    int instr, run;
    MwQueue queue;
} InstrRun;

/* The block of the device that is arg->places further along arg->axis. */
static int shifted_block(const MwExecutor *executor, const MwPlanArg *arg)
{
    const MwMeshShape *shape = &executor->mesh->shape;
    int coordinate[MW_MAX_AXES];
    memcpy(coordinate, executor->coordinate, sizeof coordinate);
    coordinate[arg->axis] = (coordinate[arg->axis] + arg->places) % shape->size[arg->axis];
    return mw_mesh_block(shape, arg->axes, coordinate);
}

static const MwPlanInstr *instr_of(const MwExecutor *executor, const InstrRun *at)
{
    return &executor->mesh->programs[at->task->program].instrs[at->instr];
}

/* Whether the instruction is a kernel that the host's processors run. */
static bool is_on_host(const MwExecutor *executor, const InstrRun *at)
{
    const MwPlanInstr *instr = instr_of(executor, at);
    return instr->kind == MW_INSTR_KERNEL && executor->plan->kernels[instr->target].on_host;
}

static MwKernelArg arg_value(const MwExecutor *executor, const MwPlanArg *arg, const InstrRun *at)
{
    const MwMeshShape *shape = &executor->mesh->shape;
    switch (arg->kind) {
    case MW_ARG_INT:
        return (MwKernelArg){.i = arg->i};
    case MW_ARG_FLOAT:
        return (MwKernelArg){.f = arg->f};
    case MW_ARG_POSITION:
        return (MwKernelArg){
            .i = mw_max(at->task->micro_batch, 0) * arg->micro_stride + at->run * arg->loop_stride +
                 mw_mesh_block(shape, arg->axes, executor->coordinate) * arg->block_stride};
    case MW_ARG_SHIFTED:
        return (MwKernelArg){.i = shifted_block(executor, arg) * arg->block_stride};
    case MW_ARG_MIRRORED:
        return (MwKernelArg){.i = (mw_mesh_ways(shape, arg->axes) - 1 -
                                   mw_mesh_block(shape, arg->axes, executor->coordinate)) *
                                  arg->block_stride};
    case MW_ARG_STEP:
        return executor->device->step && !is_on_host(executor, at)
                   ? (MwKernelArg){.at = executor->device->step}
                   : (MwKernelArg){.i = executor->kernel_step};
    case MW_ARG_SEED:
        return (MwKernelArg){.i = (int64_t)executor->seed};
    }
    MW_UNREACHABLE();
}

static bool run_collective(const MwExecutor *executor, const MwPlanInstr *instr, MwFault *fault)
{
    const int parts = mw_plan_part_total(instr);
    for (int i = 0; i < parts; i++)
        executor->parts[i] =
            mw_exchange_of_part(instr, i, executor->operands[2 * i], executor->operands[2 * i + 1]);
    return executor->transport->table->exchange(executor->transport, executor->device,
                                                executor->parts, parts, fault);
}

static void set_operands(const MwExecutor *executor, const InstrRun *at)
{
    const MwPlanInstr *instr = instr_of(executor, at);
    for (int i = 0; i < instr->operand_count; i++) {
        const int buffer = instr->operands[i].buffer;
        executor->operands[i] = mw_executor_slot(executor, buffer, at->task->micro_batch);
        executor->operand_bytes[i] = executor->mesh->buffers[buffer].bytes;
    }
}

/* The operands are set. */
static MwDeviceCall call_of(const MwExecutor *executor, const InstrRun *at)
{
    const MwPlanInstr *instr = instr_of(executor, at);
    for (int i = 0; i < instr->arg_count; i++)
        executor->args[i] = arg_value(executor, &instr->args[i], at);
    return (MwDeviceCall){instr, executor->operands, executor->operand_bytes, executor->args,
                          at->queue};
}

static bool run_call(const MwExecutor *executor, const InstrRun *at, MwFault *fault)
{
    const MwDeviceCall call = call_of(executor, at);
    return executor->device->table->run(executor->device, &call, fault);
}

static bool name_instr(const MwExecutor *executor, const MwPlanProgram *program, int instr,
                       MwFault *fault)
{
    return mw_fault_prefix(fault, "program %s, instruction %d (%s)", program->name, instr,
                           mw_plan_instr_name(executor->plan, &program->instrs[instr]));
}

static bool tune_instr(const MwExecutor *executor, const InstrRun *at, MwFault *fault)
{
    if (instr_of(executor, at)->kind != MW_INSTR_ROUTINE)
        return true;
    set_operands(executor, at);
    const MwDeviceCall call = call_of(executor, at);
    return executor->device->table->tune(executor->device, &call, fault) ||
           name_instr(executor, &executor->mesh->programs[at->task->program], at->instr, fault);
}

bool mw_executor_tune(const MwExecutor *executor, MwFault *fault)
{
    const bool tunes = executor->device->table->tune;
    for (int p = 0; tunes && p < executor->mesh->program_count; p++) {
        const MwPlanTask task = {.program = p};
        for (int i = 0; i < executor->mesh->programs[p].instr_count; i++)
            if (!tune_instr(executor, &(InstrRun){&task, i, 0, MW_QUEUE_COMPUTE}, fault))
                return false;
    }
    return true;
}

static bool run_instr(const MwExecutor *executor, const InstrRun *at, MwFault *fault)
{
    const MwPlanInstr *instr = instr_of(executor, at);
    mw_trace_begin(executor->trace);
    set_operands(executor, at);
    if (instr->kind == MW_INSTR_COLLECTIVE ? !run_collective(executor, instr, fault)
                                           : !run_call(executor, at, fault))
        return false;
    /* The times of a trace are those of the work, not of queueing it. */
    if (executor->trace && !executor->device->is_host &&
        !executor->device->table->synchronize(executor->device, fault))
        return false;
    mw_trace_end_instr(executor->trace, at->task, at->instr);
    return true;
}

/* Runs a loop; `*instr` is the instruction that runs. */
static bool run_loop(const MwExecutor *executor, const MwPlanTask *task, int *instr, MwFault *fault)
{
    const MwPlanLoop *loop = mw_plan_loop_at(&executor->mesh->programs[task->program], *instr);
    for (int run = 0; run < loop->runs; run++) {
        for (*instr = loop->first; *instr < loop->first + loop->count; (*instr)++)
            if (!run_instr(executor, &(InstrRun){task, *instr, run, MW_QUEUE_COMPUTE}, fault))
                return false;
        *instr = loop->first;
        if (!mw_endpoints_progress(executor->endpoints, fault))
            return false;
    }
    return true;
}

static bool do_traffic_op(const MwExecutor *executor, const MwPlanTask *task, const MwTrafficOp *op,
                          MwFault *fault)
{
    const MwTraffic *traffic = mw_endpoints_traffic(executor->endpoints);
    mw_trace_begin(executor->trace);
    if (!mw_endpoints_do(executor->endpoints, op, task->micro_batch, fault))
        return mw_fault_prefix(fault, "%s", executor->labels[op->endpoint][op->kind]);
    mw_trace_end_traffic(executor->trace, task, op, traffic->endpoints[op->endpoint].transfer);
    return true;
}

/* Does the traffic at instruction `instr` of the task; its first operation is `next`. */
static bool do_traffic(const MwExecutor *executor, const MwPlanTask *task, int instr, int next,
                       MwFault *fault)
{
    const MwTrafficProgram *traffic =
        &mw_endpoints_traffic(executor->endpoints)->programs[task->program];
    for (; next < traffic->op_count && traffic->ops[next].instr == instr; next++)
        if (!do_traffic_op(executor, task, &traffic->ops[next], fault))
            return false;
    return true;
}

/* ---- Steps ---- */

MwInputBox *mw_executor_inputs(MwArena *arena, const MwExecutor *executor, int *count)
{
    const MwPlanMesh *mesh = executor->mesh;
    MW_VEC(MwInputBox) boxes = {0};
    for (int t = 0; t < mesh->task_count; t++)
        for (int i = 0; i < mesh->input_count; i++)
            if (mesh->inputs[i].program == mesh->tasks[t].program)
                mw_vec_push(arena, &boxes,
                            ((MwInputBox){i, mw_executor_input_shard(executor, i,
                                                                     mesh->tasks[t].micro_batch)}));
    *count = boxes.count;
    return boxes.at;
}

static bool begin_step(const MwExecutor *executor, MwFault *fault)
{
    return reset_accumulators(executor, fault) &&
           mw_endpoints_begin_step(executor->endpoints, fault);
}

static bool end_step(const MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    const MwPlanTask end = {.program = -1, .micro_batch = -1};
    return mw_endpoints_end_step(executor->endpoints, fault) &&
           mw_executor_take(executor, &end, data, fault);
}

/* The traffic at an instruction, the instruction itself, or the loop that begins with it; a send or
 * receive is traffic only. `*instr` is the instruction that runs. */
static bool do_at_instr(const MwExecutor *executor, const MwCommand *command, int *instr,
                        MwFault *fault)
{
    const MwPlanTask *task = &executor->mesh->tasks[command->task];
    const MwInstrKind kind = executor->mesh->programs[task->program].instrs[*instr].kind;
    if (command->kind == MW_COMMAND_TRAFFIC)
        return do_traffic(executor, task, *instr, command->traffic_op, fault);
    if (command->kind == MW_COMMAND_LOOP
            ? !run_loop(executor, task, instr, fault)
            : kind != MW_INSTR_SEND && kind != MW_INSTR_RECEIVE &&
                  !run_instr(executor, &(InstrRun){task, *instr, command->run, command->queue},
                             fault))
        return false;
    return mw_endpoints_progress(executor->endpoints, fault);
}

static bool do_instr_command(const MwExecutor *executor, const MwCommand *command, MwFault *fault)
{
    const MwPlanProgram *program =
        &executor->mesh->programs[executor->mesh->tasks[command->task].program];
    int instr = command->instr;
    return do_at_instr(executor, command, &instr, fault) ||
           name_instr(executor, program, instr, fault);
}

static bool do_command(const MwExecutor *executor, const MwCommand *command,
                       const MwExecutorData *data, MwFault *fault)
{
    const MwPlanTask *task = command->task < 0 ? NULL : &executor->mesh->tasks[command->task];
    switch (command->kind) {
    case MW_COMMAND_BEGIN_STEP:
        return begin_step(executor, fault);
    case MW_COMMAND_BEGIN_TASK:
        mw_trace_begin_task(executor->trace);
        return do_traffic(executor, task, -1, 0, fault) &&
               mw_executor_feed(executor, task, data, fault);
    case MW_COMMAND_TRAFFIC:
    case MW_COMMAND_INSTR:
    case MW_COMMAND_LOOP:
        return do_instr_command(executor, command, fault);
    case MW_COMMAND_END_TASK:
        if (!mw_executor_take(executor, task, data, fault) ||
            !mw_endpoints_end_task(executor->endpoints, task, fault))
            return false;
        mw_trace_end_task(executor->trace, task);
        return true;
    case MW_COMMAND_END_STEP:
        return end_step(executor, data, fault);
    case MW_COMMAND_BEGIN_GRAPH:
    case MW_COMMAND_END_GRAPH:
        return true;
    }
    MW_UNREACHABLE();
}

bool mw_executor_wait_before(const MwExecutor *executor, const MwCommand *command, MwFault *fault)
{
    MwDevice *device = executor->device;
    for (int k = 0; k < MW_COMMAND_WAITS; k++)
        if (command->wait_events[k] >= 0 &&
            !device->table->wait_event(device, command->queue, command->wait_events[k], fault))
            return false;
    return true;
}

bool mw_executor_record_after(const MwExecutor *executor, const MwCommand *command, MwFault *fault)
{
    MwDevice *device = executor->device;
    return command->record_event < 0 ||
           device->table->record_event(device, command->queue, command->record_event, fault);
}

bool mw_executor_do_commands(const MwExecutor *executor, int begin, int end,
                             const MwExecutorData *data, MwFault *fault)
{
    for (int i = begin; i < end; i++) {
        const MwCommand *command = &executor->commands.at[i];
        if (!mw_executor_wait_before(executor, command, fault) ||
            !do_command(executor, command, data, fault) ||
            !mw_executor_record_after(executor, command, fault))
            return false;
    }
    return true;
}
