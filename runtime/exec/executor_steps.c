/* SPDX-License-Identifier: MIT */
/* The steps of an executor: queued ahead of the device where it can do that, replayed where they
 * were captured, and waited for. */
#include "base/clock.h"
#include "base/philox.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/executor_data.h"
#include "runtime/exec/executor_state.h"

/* ---- Replayed steps ---- */

/* True if the command has a collective that it does not queue on the transport's queue. */
static bool waits_for_collective(const MwExecutor *executor, const MwCommand *command)
{
    if ((command->kind != MW_COMMAND_INSTR && command->kind != MW_COMMAND_LOOP) ||
        command->queue == executor->transport->queue)
        return false;
    const MwPlanProgram *program =
        &executor->mesh->programs[executor->mesh->tasks[command->task].program];
    const MwPlanLoop *loop = mw_plan_loop_at(program, command->instr);
    const int count = command->kind == MW_COMMAND_LOOP ? loop->count : 1;
    for (int i = command->instr; i < command->instr + count; i++)
        if (program->instrs[i].kind == MW_INSTR_COLLECTIVE)
            return true;
    return false;
}

/* True if the host does nothing in a step but queue work: there are no messages, accumulators begin
 * with zeros, and every collective is queued on the transport's queue. */
static bool can_replay(const MwExecutor *executor)
{
    const MwPlanMesh *mesh = executor->mesh;
    bool can = executor->device->table->begin_capture && executor->host_slots &&
               executor->transport->is_queued && !executor->trace &&
               mw_endpoints_traffic(executor->endpoints)->endpoint_count == 0;
    for (int i = 0; i < mesh->weight_count; i++)
        can &= !mesh->weights[i].reset_each_step || mesh->weights[i].init == MW_INIT_ZEROS;
    for (int i = 0; i < executor->commands.count && can; i++)
        can = !waits_for_collective(executor, &executor->commands.at[i]);
    return can;
}

void mw_executor_set_replay(MwExecutor *executor, bool wanted)
{
    executor->replays = wanted && can_replay(executor);
}

const char *mw_executor_uncaptured(const MwExecutor *executor)
{
    return *executor->uncaptured.text ? executor->uncaptured.text : NULL;
}

/* Captures a step, or, where the device cannot, gives up replaying. Waits for the steps before, so
 * that a fault of theirs is not one of the capture. False after a fault of what the step does. */
static bool capture_step(MwExecutor *executor, int slot, const MwExecutorData *data, MwFault *fault)
{
    MwDevice *device = executor->device;
    if (!device->table->synchronize(device, fault))
        return false;
    const bool begun = device->table->begin_capture(device, slot, &executor->uncaptured);
    if (begun && !mw_executor_do_commands(executor, data, fault))
        return false;
    executor->is_captured[slot] =
        begun && device->table->end_capture(device, &executor->uncaptured);
    executor->replays = executor->is_captured[slot];
    return true;
}

static bool replay_step(MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    MwDevice *device = executor->device;
    MwTransport *transport = executor->transport;
    const int slot = mw_step_slot(executor->step);
    if (!executor->is_captured[slot] && !capture_step(executor, slot, data, fault))
        return false;
    if (!executor->is_captured[slot])
        return mw_executor_do_commands(executor, data, fault);
    return mw_executor_fill(executor, data, fault) && device->table->replay(device, slot, fault) &&
           (!transport->table->replayed || transport->table->replayed(transport, device, fault));
}

/* Number of steps that run before the first capture. The first loads code and selects algorithms,
 * which a capture cannot contain; the second runs as a captured one will, without either. */
enum { STEPS_BEFORE_CAPTURE = 2 };

static bool run_step(MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    if (!executor->replays || data->output || executor->steps++ < STEPS_BEFORE_CAPTURE)
        return mw_executor_do_commands(executor, data, fault);
    return replay_step(executor, data, fault);
}

/* ---- Steps that are queued ---- */

int mw_executor_queued(const MwExecutor *executor)
{
    return executor->queued;
}

int mw_executor_most_queued(const MwExecutor *executor)
{
    return executor->host_slots && !executor->trace ? MW_STEP_SLOTS : 1;
}

static bool set_step(const MwExecutor *executor, MwFault *fault)
{
    MwDevice *device = executor->device;
    return !device->step || device->table->set_step(device, mw_step_slot(executor->step),
                                                    executor->kernel_step, fault);
}

static bool queue_step(MwExecutor *executor, int64_t step, const MwExecutorData *data,
                       MwFault *fault)
{
    const size_t bytes = mw_arena_bytes(executor->arena);
    MW_ASSERT(executor->queued < mw_executor_most_queued(executor));
    executor->step = step;
    executor->queued++;
    executor->kernel_step = executor->beside ? mw_kernel_step(step, executor->beside->step) : step;
    executor->seed = executor->beside ? executor->beside->seed : executor->seed;
    mw_trace_begin_step(executor->trace, step);
    const bool good = set_step(executor, fault) && run_step(executor, data, fault) &&
                      mw_executor_queue_metrics(executor, fault);
    MW_ASSERT(mw_arena_bytes(executor->arena) == bytes); /* a step allocates nothing */
    return good;
}

/* How long a step may take to its end that was queued before another met a fault. Those that never
 * come to it are all that are waited for so long, unless a step takes longer. Chosen, not
 * measured. */
static const double PATIENCE_S = 1;

static bool comes_to_its_end(const MwExecutor *executor, int64_t step)
{
    MwDevice *device = executor->device;
    const double begin_s = mw_clock_s();
    bool is_done = false;
    while (!is_done && mw_clock_s() - begin_s < PATIENCE_S)
        is_done = device->table->is_step_done(device, mw_step_slot(step));
    return is_done;
}

static int64_t first_queued(const MwExecutor *executor)
{
    return executor->step - executor->queued + 1;
}

/* Waits for the step. A fault meanwhile is of a later one if the step comes to its end all the
 * same, and is kept for that. */
static bool wait_for(MwExecutor *executor, int64_t step, MwFault *fault)
{
    MwDevice *device = executor->device;
    if (!executor->host_slots)
        return device->table->synchronize(device, fault);
    if (executor->has_failed)
        *fault = executor->late;
    else if (device->table->wait_step(device, mw_step_slot(step), fault))
        return true;
    executor->late = *fault;
    executor->has_failed =
        !executor->has_failed && executor->queued > 1 && comes_to_its_end(executor, step);
    return executor->has_failed;
}

static bool finish_step(MwExecutor *executor, double *metrics, MwFault *fault)
{
    const int64_t step = first_queued(executor);
    if (!wait_for(executor, step, fault))
        return false;
    executor->queued--;
    mw_trace_end_step(executor->trace);
    return mw_executor_read_metrics(executor, step, metrics, fault);
}

bool mw_executor_queue(MwExecutor *executor, int64_t step, const MwExecutorData *data,
                       MwFault *fault)
{
    if (executor->has_failed)
        *fault = executor->late;
    else if (queue_step(executor, step, data, fault))
        return true;
    int64_t at = first_queued(executor);
    while (at < executor->step && comes_to_its_end(executor, at))
        at++;
    return mw_fault_prefix(fault, "step %lld", (long long)at);
}

bool mw_executor_finish(MwExecutor *executor, double *metrics, MwFault *fault)
{
    const int64_t step = first_queued(executor);
    return finish_step(executor, metrics, fault) ||
           mw_fault_prefix(fault, "step %lld", (long long)step);
}

bool mw_executor_step(MwExecutor *executor, int64_t step, const MwExecutorData *data,
                      double *metrics, MwFault *fault)
{
    MW_ASSERT(executor->queued == 0);
    return mw_weights_save(executor->device, &executor->saved, fault) &&
           queue_step(executor, step, data, fault) && finish_step(executor, metrics, fault) &&
           mw_weights_restore(executor->device, &executor->saved, fault);
}
