/* SPDX-License-Identifier: MIT */
#include "runtime/exec/executor.h"

#include "runtime/exec/acts.h"
#include "runtime/exec/lines.h"
#include "runtime/exec/trace.h"
#include "runtime/exec/weights.h"

#include <math.h>

enum { LABEL_BYTES = 200 };

struct MwExecutor {
    const MwArena *arena;
    const MwPlan *plan;
    const MwPlanMesh *mesh;
    MwDevice *device;
    MwTransport *transport;
    MwTrace *trace;
    MwLines *lines;
    MwActs acts;                             /* of every step */
    const char *(*labels)[MW_TRAFFIC_KINDS]; /* [lines] what a trace calls their events */
    int coordinate[MW_MAX_AXES];
    char *memory;   /* the arena, on the device */
    MwZeros *zeros; /* of every step */
    int zero_count;
    void *staging; /* of one input or output, on the host; NULL where the device is the host */
    /* [mesh->inputs][micro-batches] in memory that the device fetches from; NULL: it does not. */
    char *feeds;
    int64_t *feed_offsets; /* [mesh->inputs] */
    bool repeats;          /* what a step queues is kept, if it can be */
    bool is_kept;
    int steps; /* done so far, where they are to be kept */
    /* Of the instruction that runs. */
    MwKernelArg *args;
    void **operands;
    int64_t *operand_bytes;
    uint64_t seed;
    int64_t step;
};

const MwPlanMesh *mw_executor_mesh(const MwExecutor *executor)
{
    return executor->mesh;
}

/* The slot that tasks of a micro-batch use. */
static void *slot_of(const MwExecutor *executor, int buffer, int micro_batch)
{
    return executor->memory + mw_plan_slot_offset(&executor->mesh->buffers[buffer], micro_batch);
}

void *mw_executor_buffer(const MwExecutor *executor, int buffer)
{
    return slot_of(executor, buffer, -1);
}

/* ---- Getting ready ---- */

static const MwPlanMesh *mesh_of_rank(const MwPlan *plan, int rank)
{
    for (int i = 0; i < plan->mesh_count; i++) {
        const MwPlanMesh *mesh = &plan->meshes[i];
        if (rank >= mesh->first_rank && rank < mesh->first_rank + mw_mesh_devices(&mesh->shape))
            return mesh;
    }
    MW_UNREACHABLE();
}

/* Room for what any one instruction takes. */
static void make_room(MwExecutor *executor, MwArena *arena)
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
}

/* The most that one output takes, or an input that the device does not fetch. */
static int64_t staging_bytes(const MwExecutor *executor)
{
    const MwPlanMesh *mesh = executor->mesh;
    int64_t most = 0;
    for (int i = 0; i < mesh->input_count && !executor->feeds; i++)
        most = mw_max(most, mesh->buffers[mesh->inputs[i].buffer].bytes);
    for (int i = 0; i < mesh->output_count; i++)
        most = mw_max(most, mesh->buffers[mesh->outputs[i].buffer].bytes);
    return most;
}

/* From one micro-batch of an input to the next. */
static int64_t feed_bytes(const MwExecutor *executor, int input)
{
    const MwPlanMesh *mesh = executor->mesh;
    return mw_slot_bytes(mesh->buffers[mesh->inputs[input].buffer].bytes);
}

/* Where inputs and outputs are on the host. */
static bool make_host_memory(MwExecutor *executor, MwArena *arena, MwFault *fault)
{
    MwDevice *device = executor->device;
    int64_t bytes = 0;
    if (device->is_host)
        return true;
    executor->feed_offsets = MW_NEW(arena, int64_t, executor->mesh->input_count);
    for (int i = 0; i < executor->mesh->input_count; i++) {
        executor->feed_offsets[i] = bytes;
        bytes += feed_bytes(executor, i) * executor->plan->micro_batches;
    }
    if (device->table->alloc_host)
        executor->feeds = device->table->alloc_host(device, bytes, fault);
    if (device->table->alloc_host && !executor->feeds)
        return false;
    executor->staging = mw_arena_alloc(arena, (size_t)staging_bytes(executor));
    return true;
}

static bool make_acts(MwExecutor *executor, MwArena *arena, MwFault *fault)
{
    MwDevice *device = executor->device;
    executor->acts = mw_acts(arena, executor->mesh, mw_lines_traffic(executor->lines),
                             executor->transport->queue);
    return executor->acts.mark_count == 0 ||
           device->table->make_marks(device, arena, executor->acts.mark_count, fault);
}

/* "send h" */
static void make_labels(MwExecutor *executor, MwArena *arena)
{
    static const char *const verbs[MW_TRAFFIC_KINDS] = {[MW_TRAFFIC_WAIT] = "wait for",
                                                        [MW_TRAFFIC_WAIT_ALL] = "wait for all",
                                                        [MW_TRAFFIC_SEND] = "send",
                                                        [MW_TRAFFIC_RECEIVE] = "receive"};
    const MwTraffic *traffic = mw_lines_traffic(executor->lines);
    executor->labels =
        mw_arena_alloc(arena, sizeof *executor->labels * (size_t)traffic->line_count);
    for (int l = 0; l < traffic->line_count; l++)
        for (int k = 0; k < MW_TRAFFIC_KINDS; k++)
            executor->labels[l][k] =
                mw_arena_printf(arena, "%s %s", verbs[k],
                                executor->plan->transfers[traffic->lines[l].transfer].name);
}

MwExecutor *mw_executor_new(MwArena *arena, const MwPlan *plan, MwDevice *device,
                            MwTransport *transport, MwTrace *trace, MwFault *fault)
{
    MwExecutor *executor = MW_NEW(arena, MwExecutor, 1);
    const MwPlanMesh *mesh = mesh_of_rank(plan, transport->rank);
    *executor = (MwExecutor){.arena = arena,
                             .plan = plan,
                             .mesh = mesh,
                             .device = device,
                             .transport = transport,
                             .trace = trace};
    mw_mesh_coordinates(&mesh->shape, transport->rank - mesh->first_rank, executor->coordinate);
    if (!transport->table->join(transport, &mesh->shape, mesh->first_rank, fault))
        return NULL;
    executor->memory = transport->table->arena(transport, device, mesh->arena_bytes, fault);
    if (!executor->memory)
        return NULL;
    executor->lines = mw_lines_new(arena, plan, mesh, device, transport, executor->memory, fault);
    if (!executor->lines || !make_acts(executor, arena, fault) ||
        !make_host_memory(executor, arena, fault))
        return NULL;
    executor->zeros = mw_weights_zeros(arena, mesh, &executor->zero_count);
    make_room(executor, arena);
    make_labels(executor, arena);
    return executor;
}

static bool start_weight(const MwExecutor *executor, int index, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    return mw_weight_start(executor->device, mesh, executor->coordinate, index, executor->seed,
                           mw_executor_buffer(executor, mesh->weights[index].buffer), fault);
}

static bool start_weights(const MwExecutor *executor, MwFault *fault)
{
    for (int i = 0; i < executor->mesh->weight_count; i++)
        if (!start_weight(executor, i, fault))
            return false;
    return true;
}

static bool start_accumulators(const MwExecutor *executor, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    for (int i = 0; i < executor->zero_count; i++)
        if (!executor->device->table->zero(
                executor->device, executor->memory + executor->zeros[i].begin,
                executor->zeros[i].end - executor->zeros[i].begin, fault))
            return false;
    for (int i = 0; i < mesh->weight_count; i++)
        if (mesh->weights[i].reset_each_step && mesh->weights[i].init != MW_INIT_ZEROS &&
            !start_weight(executor, i, fault))
            return false;
    return true;
}

bool mw_executor_start(MwExecutor *executor, uint64_t seed, MwFault *fault)
{
    executor->seed = seed;
    return executor->transport->table->open(executor->transport, fault) &&
           start_weights(executor, fault);
}

/* ---- Instructions ---- */

static MwKernelArg arg_value(const MwExecutor *executor, const MwPlanArg *arg, int micro_batch)
{
    const MwMeshShape *shape = &executor->mesh->shape;
    switch (arg->kind) {
    case MW_ARG_INT:
        return (MwKernelArg){.i = arg->i};
    case MW_ARG_FLOAT:
        return (MwKernelArg){.f = arg->f};
    case MW_ARG_POSITION:
        return (MwKernelArg){.i = mw_max(micro_batch, 0) * arg->micro_stride +
                                  mw_mesh_block(shape, arg->axes, executor->coordinate) *
                                      arg->block_stride};
    case MW_ARG_STEP:
        return executor->device->step ? (MwKernelArg){.at = executor->device->step}
                                      : (MwKernelArg){.i = executor->step};
    case MW_ARG_SEED:
        return (MwKernelArg){.i = (int64_t)executor->seed};
    }
    MW_UNREACHABLE();
}

static bool run_collective(const MwExecutor *executor, const MwPlanInstr *instr, MwFault *fault)
{
    const MwExchange exchange = {
        .kind = (MwCollective)instr->target,
        .axis = instr->axis,
        .type = instr->type,
        .combine = instr->combine,
        .count = instr->count,
        .source = executor->operands[0],
        .destination = executor->operands[1],
    };
    return executor->transport->table->exchange(executor->transport, executor->device, &exchange,
                                                fault);
}

static bool run_call(const MwExecutor *executor, const MwPlanInstr *instr, int micro_batch,
                     MwFault *fault)
{
    for (int i = 0; i < instr->arg_count; i++)
        executor->args[i] = arg_value(executor, &instr->args[i], micro_batch);
    const MwCall call = {instr, executor->operands, executor->operand_bytes, executor->args};
    return executor->device->table->run(executor->device, &call, fault);
}

static bool run_instr(const MwExecutor *executor, const MwPlanTask *task, int index, MwFault *fault)
{
    const MwPlanProgram *program = &executor->mesh->programs[task->program];
    const MwPlanInstr *instr = &program->instrs[index];
    mw_trace_begin(executor->trace);
    for (int i = 0; i < instr->operand_count; i++) {
        const int buffer = instr->operands[i].buffer;
        executor->operands[i] = slot_of(executor, buffer, task->micro_batch);
        executor->operand_bytes[i] = executor->mesh->buffers[buffer].bytes;
    }
    if (instr->kind == MW_INSTR_COLLECTIVE ? !run_collective(executor, instr, fault)
                                           : !run_call(executor, instr, task->micro_batch, fault))
        return false;
    char label[LABEL_BYTES];
    mw_plan_instr_label(executor->plan, instr, label, sizeof label);
    mw_trace_end(executor->trace, label, program->name, index, task->micro_batch);
    return true;
}

static bool do_event(const MwExecutor *executor, const MwPlanTask *task,
                     const MwTrafficEvent *event, MwFault *fault)
{
    const char *label = executor->labels[event->line][event->kind];
    const char *program = executor->mesh->programs[task->program].name;
    mw_trace_begin(executor->trace);
    if (!mw_lines_do(executor->lines, event, task->micro_batch, fault))
        return mw_fault_prefix(fault, "%s", label);
    mw_trace_end(executor->trace, label, program, event->instr, task->micro_batch);
    return true;
}

/* Does the events of the task's instruction `instr`; the first of them is `next`. */
static bool do_events(const MwExecutor *executor, const MwPlanTask *task, int instr, int next,
                      MwFault *fault)
{
    const MwTrafficProgram *traffic = &mw_lines_traffic(executor->lines)->programs[task->program];
    for (; next < traffic->event_count && traffic->events[next].instr == instr; next++)
        if (!do_event(executor, task, &traffic->events[next], fault))
            return false;
    return true;
}

/* ---- Inputs and outputs ---- */

static MwBlock input_block(const MwExecutor *executor, int index, int micro_batch)
{
    const MwPlanInput *input = &executor->mesh->inputs[index];
    return mw_block_micro(&input->global, input->spec, &executor->mesh->shape, executor->coordinate,
                          micro_batch, executor->plan->micro_batches);
}

/* Where the host puts an input. */
static void *host_of(const MwExecutor *executor, int index, int micro_batch)
{
    if (executor->feeds)
        return executor->feeds + executor->feed_offsets[index] +
               mw_max(micro_batch, 0) * feed_bytes(executor, index);
    return executor->staging ? executor->staging
                             : slot_of(executor, executor->mesh->inputs[index].buffer, micro_batch);
}

static bool fill_input(const MwExecutor *executor, int index, int micro_batch,
                       const MwExecutorData *data, MwFault *fault)
{
    const MwBlock block = input_block(executor, index, micro_batch);
    return data->input(data->context, index, executor->step, &block,
                       host_of(executor, index, micro_batch), fault) ||
           mw_fault_prefix(fault, "input %s", executor->mesh->inputs[index].name);
}

/* From there to the device. */
static bool pass_input(const MwExecutor *executor, int index, int micro_batch, MwFault *fault)
{
    const MwPlanInput *input = &executor->mesh->inputs[index];
    const MwBlock block = input_block(executor, index, micro_batch);
    MwDevice *device = executor->device;
    void *to = slot_of(executor, input->buffer, micro_batch);
    const void *from = host_of(executor, index, micro_batch);
    const int64_t bytes = mw_block_elements(&block) * mw_type_bytes(input->global.type);
    return device->is_host ||
           (executor->feeds ? device->table->fetch(device, to, from, bytes, fault)
                            : device->table->copy_in(device, to, from, bytes, fault));
}

static bool take_output(const MwExecutor *executor, int index, int micro_batch,
                        const MwExecutorData *data, MwFault *fault)
{
    const MwPlanOutput *output = &executor->mesh->outputs[index];
    const MwMeshShape *shape = &executor->mesh->shape;
    const MwBlock block = mw_block_micro(&output->global, output->spec, shape, executor->coordinate,
                                         output->whole ? 0 : micro_batch,
                                         output->whole ? 1 : executor->plan->micro_batches);
    const void *from = slot_of(executor, output->buffer, micro_batch);
    if (executor->staging &&
        !executor->device->table->copy_out(
            executor->device, executor->staging, from,
            mw_block_elements(&block) * mw_type_bytes(output->global.type), fault))
        return false;
    bool is_first = mw_block_is_first(&output->global, output->spec, shape, executor->coordinate);
    return data->output(data->context, index, executor->step, &block, is_first,
                        executor->staging ? executor->staging : from, fault) ||
           mw_fault_prefix(fault, "output %s", output->name);
}

/* A step that is kept is filled before it is repeated. */
static bool feed_inputs(const MwExecutor *executor, const MwPlanTask *task,
                        const MwExecutorData *data, MwFault *fault)
{
    for (int i = 0; i < executor->mesh->input_count; i++)
        if (executor->mesh->inputs[i].program == task->program &&
            ((!executor->device->is_keeping &&
              !fill_input(executor, i, task->micro_batch, data, fault)) ||
             !pass_input(executor, i, task->micro_batch, fault)))
            return false;
    return true;
}

/* Those of all tasks. */
static bool fill_inputs(const MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    for (int t = 0; t < mesh->task_count; t++)
        for (int i = 0; i < mesh->input_count; i++)
            if (mesh->inputs[i].program == mesh->tasks[t].program &&
                !fill_input(executor, i, mesh->tasks[t].micro_batch, data, fault))
                return false;
    return true;
}

/* The outputs of a task; those of the step are of program -1. */
static bool take_outputs(const MwExecutor *executor, const MwPlanTask *task,
                         const MwExecutorData *data, MwFault *fault)
{
    for (int i = 0; data->output && i < executor->mesh->output_count; i++)
        if (executor->mesh->outputs[i].program == task->program &&
            !take_output(executor, i, task->micro_batch, data, fault))
            return false;
    return true;
}

/* ---- Steps ---- */

static bool read_loss(const MwExecutor *executor, double *loss, MwFault *fault)
{
    float value = NAN;
    if (executor->mesh->loss_buffer >= 0 &&
        !executor->device->table->copy_out(
            executor->device, &value, mw_executor_buffer(executor, executor->mesh->loss_buffer),
            sizeof value, fault))
        return false;
    *loss = value;
    return executor->device->table->synchronize(executor->device, fault);
}

static bool set_step(const MwExecutor *executor, MwFault *fault)
{
    MwDevice *device = executor->device;
    return !device->step || device->table->set_step(device, executor->step, fault);
}

static bool begin_step(const MwExecutor *executor, MwFault *fault)
{
    return set_step(executor, fault) && start_accumulators(executor, fault) &&
           mw_lines_begin_step(executor->lines, fault);
}

static bool end_step(const MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    const MwPlanTask end = {.program = -1, .micro_batch = -1};
    return mw_lines_end_step(executor->lines, fault) && take_outputs(executor, &end, data, fault);
}

/* Of an instruction: what goes before it, or itself. Messages are events alone. */
static bool do_instr_act(const MwExecutor *executor, const MwAct *act, MwFault *fault)
{
    const MwPlanTask *task = &executor->mesh->tasks[act->task];
    const MwPlanProgram *program = &executor->mesh->programs[task->program];
    const MwPlanInstr *instr = &program->instrs[act->instr];
    const bool is_message = instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE;
    if (act->kind == MW_ACT_EVENTS ? do_events(executor, task, act->instr, act->event, fault)
                                   : (is_message || run_instr(executor, task, act->instr, fault)) &&
                                         mw_lines_progress(executor->lines, fault))
        return true;
    return mw_fault_prefix(fault, "program %s, instruction %d (%s)", program->name, act->instr,
                           mw_plan_instr_name(executor->plan, instr));
}

static bool do_act(const MwExecutor *executor, const MwAct *act, const MwExecutorData *data,
                   MwFault *fault)
{
    const MwPlanTask *task = act->task < 0 ? NULL : &executor->mesh->tasks[act->task];
    switch (act->kind) {
    case MW_ACT_BEGIN:
        return begin_step(executor, fault);
    case MW_ACT_TASK:
        return do_events(executor, task, -1, 0, fault) && feed_inputs(executor, task, data, fault);
    case MW_ACT_EVENTS:
    case MW_ACT_INSTR:
        return do_instr_act(executor, act, fault);
    case MW_ACT_TASK_END:
        return take_outputs(executor, task, data, fault) &&
               mw_lines_end_task(executor->lines, task, fault);
    case MW_ACT_END:
        return end_step(executor, data, fault);
    }
    MW_UNREACHABLE();
}

static bool do_acts(const MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    MwDevice *device = executor->device;
    for (int i = 0; i < executor->acts.count; i++) {
        const MwAct *act = &executor->acts.at[i];
        if ((act->wait >= 0 && !device->table->wait(device, act->queue, act->wait, fault)) ||
            !do_act(executor, act, data, fault) ||
            (act->mark >= 0 && !device->table->mark(device, act->queue, act->mark, fault)))
            return false;
    }
    return true;
}

/* ---- Steps that are repeated ---- */

/* Whether the host has no part in a step but to queue it. */
static bool can_repeat(const MwExecutor *executor)
{
    const MwPlanMesh *mesh = executor->mesh;
    bool can = executor->device->table->keep && executor->feeds && executor->transport->is_queued &&
               !executor->trace && mw_lines_traffic(executor->lines)->line_count == 0;
    for (int i = 0; i < mesh->weight_count; i++)
        can &= !mesh->weights[i].reset_each_step || mesh->weights[i].init == MW_INIT_ZEROS;
    for (int i = 0; i < executor->acts.count && can; i++) {
        const MwAct *act = &executor->acts.at[i];
        const MwPlanTask *task = act->task < 0 ? NULL : &mesh->tasks[act->task];
        can = act->kind != MW_ACT_INSTR || act->queue == executor->transport->queue ||
              mesh->programs[task->program].instrs[act->instr].kind != MW_INSTR_COLLECTIVE;
    }
    return can;
}

void mw_executor_set_repeats(MwExecutor *executor, bool repeats)
{
    executor->repeats = repeats && can_repeat(executor);
}

static bool keep_step(MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    MwDevice *device = executor->device;
    executor->is_kept = device->table->keep(device, fault) && do_acts(executor, data, fault) &&
                        device->table->kept(device, fault);
    return executor->is_kept;
}

static bool repeat_step(MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    MwDevice *device = executor->device;
    MwTransport *transport = executor->transport;
    return (executor->is_kept || keep_step(executor, data, fault)) &&
           fill_inputs(executor, data, fault) &&
           device->table->repeat(device, executor->step, fault) &&
           (!transport->table->repeated || transport->table->repeated(transport, device, fault));
}

/* In the first, code is loaded and algorithms are sought; the second has nothing of that. */
enum { STEPS_BEFORE = 2 };

static bool run_step(MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    if (!executor->repeats || data->output || executor->steps++ < STEPS_BEFORE)
        return do_acts(executor, data, fault);
    return repeat_step(executor, data, fault);
}

bool mw_executor_step(MwExecutor *executor, int64_t step, const MwExecutorData *data, double *loss,
                      MwFault *fault)
{
    const size_t bytes = mw_arena_bytes(executor->arena);
    executor->step = step;
    const bool good = run_step(executor, data, fault) && read_loss(executor, loss, fault);
    MW_ASSERT(mw_arena_bytes(executor->arena) == bytes); /* all is allocated before */
    return good;
}
