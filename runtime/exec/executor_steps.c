/* SPDX-License-Identifier: MIT */
/* The steps of an executor: queued ahead of the device where it can do that, replayed where they
 * were captured, and waited for. */
#include "base/clock.h"
#include "base/philox.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/executor_data.h"
#include "runtime/exec/executor_state.h"

/* ---- Graphs ---- */

void mw_executor_set_replay(MwExecutor *executor, bool wanted)
{
    executor->replays = wanted && executor->commands.graph_count > 0;
}

const char *mw_executor_uncaptured(const MwExecutor *executor)
{
    return *executor->uncaptured.text ? executor->uncaptured.text : NULL;
}

/* What is on the compute queue between the begin and the end of a graph. */
static bool do_graph(const MwExecutor *executor, const MwCommandGraph *graph,
                     const MwExecutorData *data, MwFault *fault)
{
    const MwCommandList *list = &executor->commands;
    return mw_executor_record_after(executor, &list->at[graph->begin], fault) &&
           mw_executor_do_commands(executor, graph->begin + 1, graph->end, data, fault) &&
           mw_executor_wait_before(executor, &list->at[graph->end], fault);
}

/* Waits for all that is queued, so that a fault of it is not one of a capture, and until nothing
 * needs other ranks, since the device may block while it makes a graph. */
static bool come_to_rest(MwDevice *device, MwFault *fault)
{
    return device->table->synchronize(device, fault) &&
           (!device->quiesce || device->quiesce(device->idle_context, fault));
}

/* Captures a graph, or, where the device cannot, gives up replaying. False after a fault of what
 * the graph does. */
static bool capture(MwExecutor *executor, const MwCommandGraph *graph, int number,
                    const MwExecutorData *data, MwFault *fault)
{
    MwDevice *device = executor->device;
    if (!come_to_rest(device, fault))
        return false;
    const bool begun = device->table->begin_capture(device, number, &executor->uncaptured);
    if (begun && !do_graph(executor, graph, data, fault))
        return false;
    executor->is_captured[number] =
        begun && device->table->end_capture(device, &executor->uncaptured);
    executor->replays = executor->is_captured[number];
    return true;
}

/* A fault names the program of a graph that is a part of a task. */
static bool launch(const MwExecutor *executor, const MwCommandGraph *graph, int number,
                   MwFault *fault)
{
    MwDevice *device = executor->device;
    const int task = executor->commands.at[graph->begin + 1].task;
    if (device->table->replay(device, number, fault))
        return true;
    if (task >= 0)
        mw_fault_prefix(fault, "program %s, a graph",
                        executor->mesh->programs[executor->mesh->tasks[task].program].name);
    return false;
}

static bool replay(MwExecutor *executor, const MwCommandGraph *graph, const MwExecutorData *data,
                   MwFault *fault)
{
    MwDevice *device = executor->device;
    MwTransport *transport = executor->transport;
    const bool is_step = executor->commands.is_one_graph;
    const int number = is_step ? mw_step_slot(executor->step) : graph->captured;
    if (!executor->is_captured[number] && !capture(executor, graph, number, data, fault))
        return false;
    if (!executor->is_captured[number])
        return do_graph(executor, graph, data, fault);
    return (!is_step || mw_executor_fill(executor, data, fault)) &&
           launch(executor, graph, number, fault) &&
           (!graph->has_collectives || !transport->table->replayed ||
            transport->table->replayed(transport, device, fault)) &&
           mw_endpoints_progress(executor->endpoints, fault);
}

/* Number of steps that run before the first capture. The first loads code and selects algorithms,
 * which a capture cannot contain; the second runs as a captured one will, without either. */
enum { STEPS_BEFORE_CAPTURE = 2 };

static bool replays_now(MwExecutor *executor, const MwExecutorData *data)
{
    const bool may = executor->replays && (!executor->commands.is_one_graph || !data->output);
    return may && executor->steps++ >= STEPS_BEFORE_CAPTURE;
}

static bool run_step(MwExecutor *executor, const MwExecutorData *data, MwFault *fault)
{
    const MwCommandList *list = &executor->commands;
    bool replays = replays_now(executor, data);
    int done = 0; /* commands */
    for (int i = 0; i < list->graph_count && replays; i++) {
        const MwCommandGraph *graph = &list->graphs[i];
        if (!mw_executor_do_commands(executor, done, graph->begin, data, fault) ||
            !mw_executor_wait_before(executor, &list->at[graph->begin], fault) ||
            !replay(executor, graph, data, fault) ||
            !mw_executor_record_after(executor, &list->at[graph->end], fault))
            return false;
        done = graph->end + 1;
        replays = executor->replays;
    }
    return mw_executor_do_commands(executor, done, list->count, data, fault);
}

/* ---- Steps that are queued ---- */

int mw_executor_queued(const MwExecutor *executor)
{
    return executor->queued;
}

int mw_executor_most_queued(const MwExecutor *executor)
{
    const bool waits =
        !executor->transport->is_queued; /* for other ranks, while it queues a step */
    return executor->host_slots && !executor->trace && !waits ? MW_STEP_SLOTS : 1;
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

/* Keeps a fault for the first step that does not come to its end. Those before are finished as if
 * there were none, so that what they gave is not lost. */
static void keep_fault(MwExecutor *executor, const MwFault *fault)
{
    MwTransport *transport = executor->transport;
    int64_t at = first_queued(executor);
    while (at < executor->step && comes_to_its_end(executor, at))
        at++;
    executor->failed = at;
    executor->late = *fault;
    if (transport->table->expect_end)
        transport->table->expect_end(transport, fault);
}

/* Whether the step is one before that which has failed, if one has. */
static bool is_good(const MwExecutor *executor, int64_t step, MwFault *fault)
{
    if (!executor->failed || step < executor->failed)
        return true;
    *fault = executor->late;
    return false;
}

static bool wait_for(MwExecutor *executor, int64_t step, MwFault *fault)
{
    MwDevice *device = executor->device;
    if (!executor->host_slots)
        return device->table->synchronize(device, fault);
    if (!executor->failed && !device->table->wait_step(device, mw_step_slot(step), fault))
        keep_fault(executor, fault);
    return is_good(executor, step, fault);
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
    if (!executor->failed && !queue_step(executor, step, data, fault))
        keep_fault(executor, fault);
    return is_good(executor, first_queued(executor), fault) ||
           mw_fault_prefix(fault, "step %lld", (long long)executor->failed);
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
