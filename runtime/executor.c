/* SPDX-License-Identifier: MIT */
#include "runtime/executor.h"

#include "runtime/routine.h"
#include "runtime/trace.h"
#include "runtime/weights.h"

#include <math.h>

/* An instruction with its operands' places found. */
typedef struct {
    void **operands;
    int64_t *operand_bytes;
} Ready;

struct MwExecutor {
    const MwPlan *plan;
    const MwPlanMesh *mesh;
    MwDevice *device;
    MwTransport *transport;
    MwTrace *trace;
    int coordinate[MW_MAX_AXES];
    char *memory;      /* the arena, on the device */
    void *staging;     /* of one input or output, on the host; NULL where the device is the host */
    MwKernelArg *args; /* of the instruction that runs */
    Ready **ready;     /* [program][instruction] */
    uint64_t seed;
};

const MwPlanMesh *mw_executor_mesh(const MwExecutor *executor)
{
    return executor->mesh;
}

void *mw_executor_buffer(const MwExecutor *executor, int buffer)
{
    return executor->memory + executor->mesh->buffers[buffer].offset;
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

static Ready ready_instr(const MwExecutor *executor, MwArena *arena, const MwPlanInstr *instr)
{
    Ready ready = {MW_NEW(arena, void *, instr->operand_count),
                   MW_NEW(arena, int64_t, instr->operand_count)};
    for (int i = 0; i < instr->operand_count; i++) {
        int buffer = instr->operands[i].buffer;
        ready.operands[i] = mw_executor_buffer(executor, buffer);
        ready.operand_bytes[i] = executor->mesh->buffers[buffer].bytes;
    }
    return ready;
}

static void ready_programs(MwExecutor *executor, MwArena *arena)
{
    const MwPlanMesh *mesh = executor->mesh;
    int most_args = 0;
    executor->ready = MW_NEW(arena, Ready *, mesh->program_count);
    for (int p = 0; p < mesh->program_count; p++) {
        const MwPlanProgram *program = &mesh->programs[p];
        executor->ready[p] = MW_NEW(arena, Ready, program->instr_count);
        for (int i = 0; i < program->instr_count; i++) {
            executor->ready[p][i] = ready_instr(executor, arena, &program->instrs[i]);
            most_args = (int)mw_max(most_args, program->instrs[i].arg_count);
        }
    }
    executor->args = MW_NEW(arena, MwKernelArg, most_args);
}

/* The most that one input or output takes. */
static int64_t staging_bytes(const MwPlanMesh *mesh)
{
    int64_t most = 0;
    for (int i = 0; i < mesh->input_count; i++)
        most = mw_max(most, mesh->buffers[mesh->inputs[i].buffer].bytes);
    for (int i = 0; i < mesh->output_count; i++)
        most = mw_max(most, mesh->buffers[mesh->outputs[i].buffer].bytes);
    return most;
}

MwExecutor *mw_executor_new(MwArena *arena, const MwPlan *plan, MwDevice *device,
                            MwTransport *transport, MwTrace *trace, MwFault *fault)
{
    MwExecutor *executor = MW_NEW(arena, MwExecutor, 1);
    const MwPlanMesh *mesh = mesh_of_rank(plan, transport->rank);
    *executor = (MwExecutor){
        .plan = plan, .mesh = mesh, .device = device, .transport = transport, .trace = trace};
    mw_mesh_coordinates(&mesh->shape, transport->rank - mesh->first_rank, executor->coordinate);
    if (!transport->table->join(transport, &mesh->shape, mesh->first_rank, fault))
        return NULL;
    executor->memory = transport->table->arena(transport, device, mesh->arena_bytes, fault);
    if (!executor->memory)
        return NULL;
    if (!device->is_host)
        executor->staging = mw_arena_alloc(arena, (size_t)staging_bytes(mesh));
    ready_programs(executor, arena);
    return executor;
}

/* Sets every weight to its initial value, or the accumulators alone. */
static bool start_weights(const MwExecutor *executor, bool accumulators_only, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    for (int i = 0; i < mesh->weight_count; i++)
        if ((mesh->weights[i].reset_each_step || !accumulators_only) &&
            !mw_weight_start(executor->device, mesh, executor->coordinate, i, executor->seed,
                             mw_executor_buffer(executor, mesh->weights[i].buffer), fault))
            return false;
    return true;
}

bool mw_executor_start(MwExecutor *executor, uint64_t seed, MwFault *fault)
{
    executor->seed = seed;
    return start_weights(executor, false, fault);
}

/* ---- Running ---- */

static MwKernelArg arg_value(const MwExecutor *executor, const MwPlanArg *arg, int micro_batch,
                             int64_t step)
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
        return (MwKernelArg){.i = step};
    case MW_ARG_SEED:
        return (MwKernelArg){.i = (int64_t)executor->seed};
    }
    MW_UNREACHABLE();
}

static bool run_collective(const MwExecutor *executor, const MwPlanInstr *instr, const Ready *ready,
                           MwFault *fault)
{
    const MwExchange exchange = {
        .kind = (MwCollective)instr->target,
        .axis = instr->axis,
        .type = instr->type,
        .combine = instr->combine,
        .count = instr->count,
        .source = ready->operands[0],
        .destination = ready->operands[1],
    };
    return executor->transport->table->exchange(executor->transport, executor->device, &exchange,
                                                fault);
}

static bool run_instr(MwExecutor *executor, const MwPlanInstr *instr, const Ready *ready,
                      int micro_batch, int64_t step, MwFault *fault)
{
    if (instr->kind == MW_INSTR_COLLECTIVE)
        return run_collective(executor, instr, ready, fault);
    for (int i = 0; i < instr->arg_count; i++)
        executor->args[i] = arg_value(executor, &instr->args[i], micro_batch, step);
    const MwCall call = {instr, ready->operands, ready->operand_bytes, executor->args};
    return executor->device->table->run(executor->device, &call, fault);
}

static bool run_task(MwExecutor *executor, const MwPlanTask *task, int64_t step, MwFault *fault)
{
    const MwPlanProgram *program = &executor->mesh->programs[task->program];
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        mw_trace_begin(executor->trace);
        if (!run_instr(executor, instr, &executor->ready[task->program][i], task->micro_batch, step,
                       fault))
            return mw_fault_prefix(fault, "program %s, instruction %d (%s)", program->name, i,
                                   mw_plan_instr_name(executor->plan, instr));
        mw_trace_end(executor->trace, mw_plan_instr_name(executor->plan, instr), program->name, i);
    }
    return true;
}

static bool feed_input(const MwExecutor *executor, int index, int micro_batch, int64_t step,
                       const MwExecutorData *data, MwFault *fault)
{
    const MwPlanInput *input = &executor->mesh->inputs[index];
    const MwBlock block =
        mw_block_micro(&input->global, input->spec, &executor->mesh->shape, executor->coordinate,
                       micro_batch, executor->plan->micro_batches);
    void *to = mw_executor_buffer(executor, input->buffer);
    void *host = executor->staging ? executor->staging : to;
    if (!data->input(data->context, index, step, &block, host, fault))
        return mw_fault_prefix(fault, "input %s", input->name);
    return !executor->staging ||
           executor->device->table->copy_in(
               executor->device, to, host,
               mw_block_elements(&block) * mw_type_bytes(input->global.type), fault);
}

static bool take_output(const MwExecutor *executor, int index, int micro_batch, int64_t step,
                        const MwExecutorData *data, MwFault *fault)
{
    const MwPlanOutput *output = &executor->mesh->outputs[index];
    const MwMeshShape *shape = &executor->mesh->shape;
    const MwBlock block = mw_block_micro(&output->global, output->spec, shape, executor->coordinate,
                                         output->whole ? 0 : micro_batch,
                                         output->whole ? 1 : executor->plan->micro_batches);
    const void *from = mw_executor_buffer(executor, output->buffer);
    if (executor->staging &&
        !executor->device->table->copy_out(
            executor->device, executor->staging, from,
            mw_block_elements(&block) * mw_type_bytes(output->global.type), fault))
        return false;
    bool is_first = mw_block_is_first(&output->global, output->spec, shape, executor->coordinate);
    return data->output(data->context, index, step, &block, is_first,
                        executor->staging ? executor->staging : from, fault) ||
           mw_fault_prefix(fault, "output %s", output->name);
}

static bool feed_inputs(const MwExecutor *executor, int micro_batch, int64_t step,
                        const MwExecutorData *data, MwFault *fault)
{
    for (int i = 0; i < executor->mesh->input_count; i++)
        if (!feed_input(executor, i, micro_batch, step, data, fault))
            return false;
    return true;
}

/* The outputs of a micro-batch, or those of the whole step. */
static bool take_outputs(const MwExecutor *executor, bool whole, int micro_batch, int64_t step,
                         const MwExecutorData *data, MwFault *fault)
{
    for (int i = 0; data->output && i < executor->mesh->output_count; i++)
        if (executor->mesh->outputs[i].whole == whole &&
            !take_output(executor, i, micro_batch, step, data, fault))
            return false;
    return true;
}

static bool read_loss(MwExecutor *executor, double *loss, MwFault *fault)
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

bool mw_executor_step(MwExecutor *executor, int64_t step, const MwExecutorData *data, double *loss,
                      MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    if (!start_weights(executor, true, fault))
        return false;
    for (int t = 0; t < mesh->task_count; t++) {
        int micro = mesh->tasks[t].micro_batch;
        bool is_first = t == 0 || mesh->tasks[t - 1].micro_batch != micro;
        bool is_last = t + 1 == mesh->task_count || mesh->tasks[t + 1].micro_batch != micro;
        if (micro >= 0 && is_first && !feed_inputs(executor, micro, step, data, fault))
            return false;
        if (!run_task(executor, &mesh->tasks[t], step, fault))
            return false;
        if (micro >= 0 && is_last && !take_outputs(executor, false, micro, step, data, fault))
            return false;
    }
    return take_outputs(executor, true, 0, step, data, fault) && read_loss(executor, loss, fault);
}
