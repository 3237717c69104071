/* SPDX-License-Identifier: MIT */
#include "runtime/exec/executor_data.h"

#include "runtime/exec/executor_state.h"

#include <math.h>

/* ---- Memory ---- */

/* The size of the largest output, and of the largest input unless all of them have host_slots. */
static int64_t staging_bytes(const MwExecutor *executor)
{
    const MwPlanMesh *mesh = executor->mesh;
    int64_t most = 0;
    for (int i = 0; i < mesh->input_count && !executor->host_slots; i++)
        most = mw_max(most, mesh->buffers[mesh->inputs[i].buffer].bytes);
    for (int i = 0; i < mesh->output_count; i++)
        most = mw_max(most, mesh->buffers[mesh->outputs[i].buffer].bytes);
    return most;
}

/* The distance of two micro-batches of an input in a slot. */
static int64_t host_input_stride(const MwExecutor *executor, int input)
{
    const MwPlanMesh *mesh = executor->mesh;
    return mw_slot_bytes(mesh->buffers[mesh->inputs[input].buffer].bytes);
}

int64_t mw_executor_place_data(MwExecutor *executor, MwArena *arena)
{
    int64_t bytes = 0;
    executor->host_input_offset = MW_NEW(arena, int64_t, executor->mesh->input_count);
    for (int i = 0; i < executor->mesh->input_count; i++) {
        executor->host_input_offset[i] = bytes;
        bytes += host_input_stride(executor, i) * executor->plan->micro_batches;
    }
    executor->host_metric_offset = bytes;
    return bytes + mw_slot_bytes((int64_t)sizeof(float) * executor->mesh->metric_count);
}

bool mw_executor_alloc_data(MwExecutor *executor, MwArena *arena, MwFault *fault)
{
    MwDevice *device = executor->device;
    if (device->is_host)
        return true;
    executor->host_slot_bytes = mw_executor_place_data(executor, arena);
    if (device->table->alloc_host) {
        executor->host_slots =
            device->table->alloc_host(device, executor->host_slot_bytes * MW_STEP_SLOTS, fault);
        if (!executor->host_slots)
            return false;
    }
    executor->staging = mw_arena_alloc(arena, (size_t)staging_bytes(executor));
    return true;
}

/* ---- Steps ---- */

/* The step's slot of host_slots. */
static char *host_slot(const MwExecutor *executor, int64_t step)
{
    return executor->host_slots + mw_step_slot(step) * executor->host_slot_bytes;
}

MwBox mw_executor_input_shard(const MwExecutor *executor, int index, int micro_batch)
{
    const MwPlanInput *input = &executor->mesh->inputs[index];
    const MwBox held = mw_shard_box_of_micro_batch(
        mw_plan_held(input), input->spec, &executor->mesh->shape, executor->coordinate,
        input->whole ? 0 : micro_batch, input->whole ? 1 : executor->plan->micro_batches);
    return mw_box_clip(&held, &input->global);
}

/* The host memory that an input is filled into; on a device whose memory is the host's, its
 * buffer. */
static void *host_input(const MwExecutor *executor, int index, int micro_batch)
{
    if (executor->host_slots)
        return host_slot(executor, executor->step) + executor->host_input_offset[index] +
               mw_max(micro_batch, 0) * host_input_stride(executor, index);
    return executor->staging
               ? executor->staging
               : mw_executor_slot(executor, executor->mesh->inputs[index].buffer, micro_batch);
}

static bool fill_input(const MwExecutor *executor, int index, int micro_batch,
                       const MwExecutorData *data, MwFault *fault)
{
    const MwBox box = mw_executor_input_shard(executor, index, micro_batch);
    return data->input(data->context, index, executor->step, &box,
                       host_input(executor, index, micro_batch), fault) ||
           mw_fault_prefix(fault, "input %s", executor->mesh->inputs[index].name);
}

static bool copy_input(const MwExecutor *executor, int index, int micro_batch, MwFault *fault)
{
    const MwPlanInput *input = &executor->mesh->inputs[index];
    const MwBox box = mw_executor_input_shard(executor, index, micro_batch);
    MwDevice *device = executor->device;
    void *to = mw_executor_slot(executor, input->buffer, micro_batch);
    const void *from = host_input(executor, index, micro_batch);
    const int64_t bytes = mw_box_held_bytes(&box);
    if (device->is_host)
        return true;
    return executor->host_slots ? device->table->copy_in_async(device, to, from, bytes, fault)
                                : device->table->copy_in(device, to, from, bytes, fault);
}

static bool take_output(const MwExecutor *executor, int index, int micro_batch,
                        const MwExecutorData *data, MwFault *fault)
{
    const MwPlanOutput *output = &executor->mesh->outputs[index];
    const MwMeshShape *shape = &executor->mesh->shape;
    const MwBox held = mw_shard_box_of_micro_batch(
        mw_plan_held(output), output->spec, shape, executor->coordinate,
        output->whole ? 0 : micro_batch, output->whole ? 1 : executor->plan->micro_batches);
    const MwBox box = mw_box_clip(&held, &output->global);
    const int64_t bytes = mw_box_held_bytes(&box);
    const void *from = mw_executor_slot(executor, output->buffer, micro_batch);
    MwDevice *device = executor->device;
    if (executor->staging &&
        !device->table->copy_out(device, executor->staging, from, bytes, fault))
        return false;
    const bool is_first =
        mw_shard_is_first(&output->global, output->spec, shape, executor->coordinate);
    return data->output(data->context, index, executor->step, &box, is_first,
                        executor->staging ? executor->staging : from, fault) ||
           mw_fault_prefix(fault, "output %s", output->name);
}

bool mw_executor_feed(const MwExecutor *executor, const MwPlanTask *task,
                      const MwExecutorData *data, MwFault *fault)
{
    const bool fills = !executor->device->is_capturing;
    bool has_inputs = false;
    mw_trace_begin(executor->trace);
    for (int i = 0; i < executor->mesh->input_count; i++) {
        if (executor->mesh->inputs[i].program != task->program)
            continue;
        if ((fills && !fill_input(executor, i, task->micro_batch, data, fault)) ||
            !copy_input(executor, i, task->micro_batch, fault))
            return false;
        has_inputs = true;
    }
    if (has_inputs)
        mw_trace_end_inputs(executor->trace, task);
    return true;
}

bool mw_executor_fill(const MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    for (int t = 0; t < mesh->task_count; t++)
        for (int i = 0; i < mesh->input_count; i++)
            if (mesh->inputs[i].program == mesh->tasks[t].program &&
                !fill_input(executor, i, mesh->tasks[t].micro_batch, data, fault))
                return false;
    return true;
}

bool mw_executor_take(const MwExecutor *executor, const MwPlanTask *task,
                      const MwExecutorData *data, MwFault *fault)
{
    for (int i = 0; data->output && i < executor->mesh->output_count; i++)
        if (executor->mesh->outputs[i].program == task->program &&
            !take_output(executor, i, task->micro_batch, data, fault))
            return false;
    return true;
}

static float *host_metrics(const MwExecutor *executor, int64_t step)
{
    return (float *)(void *)(host_slot(executor, step) + executor->host_metric_offset);
}

bool mw_executor_queue_metrics(const MwExecutor *executor, MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    MwDevice *device = executor->device;
    if (!executor->host_slots)
        return true;
    for (int i = 0; i < mesh->metric_count; i++)
        if (!device->table->copy_out_async(device, host_metrics(executor, executor->step) + i,
                                           mw_executor_slot(executor, mesh->metrics[i].buffer, -1),
                                           sizeof(float), fault))
            return false;
    return device->table->end_step(device, mw_step_slot(executor->step), fault);
}

bool mw_executor_read_metrics(const MwExecutor *executor, int64_t step, double *metrics,
                              MwFault *fault)
{
    const MwPlanMesh *mesh = executor->mesh;
    MwDevice *device = executor->device;
    float value;
    for (int i = 0; i < mw_plan_metric_count(executor->plan); i++)
        metrics[i] = NAN;
    for (int i = 0; i < mesh->metric_count; i++) {
        if (executor->host_slots)
            value = host_metrics(executor, step)[i];
        else if (!device->table->copy_out(device, &value,
                                          mw_executor_slot(executor, mesh->metrics[i].buffer, -1),
                                          sizeof value, fault))
            return false;
        metrics[mesh->metrics[i].index] = value;
    }
    return true;
}
