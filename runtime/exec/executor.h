/* SPDX-License-Identifier: MIT */
/* Runs a plan on one rank: a loop over the commands of a step, on a device and a transport.
 *
 * mw_executor_new allocates everything: the arena and, on a device whose memory is not the host's,
 * host memory for inputs and metrics and for one output. The plan has passed mw_plan_check. */
#ifndef MW_RUNTIME_EXEC_EXECUTOR_H
#define MW_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/exec/step_data.h"
#include "runtime/exec/trace.h"
#include "runtime/exec/transport.h"

typedef struct MwExecutor MwExecutor;

/* Collective over all ranks. `trace` may be NULL. NULL after a fault. */
MwExecutor *mw_executor_new(MwArena *arena, const MwPlan *plan, MwDevice *device,
                            MwTransport *transport, MwTrace *trace, MwFault *fault);

/* An executor of another plan on the memory of this one, for steps between its steps: of the part
 * of its plan that evaluates (runtime/plan/evaluation.h). What its steps write to weights and
 * states is undone at their end. Its kernels know that they evaluate (base/philox.h): dropout is
 * off. Made before mw_executor_start of `executor`, which starts both. Collective over all ranks.
 * NULL after a fault. */
MwExecutor *mw_executor_beside(MwArena *arena, const MwExecutor *executor, const MwPlan *plan,
                               MwFault *fault);

/* Lets the device choose how it does the calls of the plan (MwDeviceTable.tune). Called before
 * mw_executor_start. */
bool mw_executor_tune(const MwExecutor *executor, MwFault *fault);
/* Connects the peers and sets every weight and state to its initial value. Collective over all
 * ranks; called once. */
bool mw_executor_start(MwExecutor *executor, uint64_t seed, MwFault *fault);
/* `wanted`: from the third step on the device captures graphs (runtime/order/graphs.h) where they
 * come first, if it and the transport can do so and no trace is written, and replays them by one
 * call each. Where the step is one graph, steps whose outputs are taken are not replayed. Where the
 * device cannot capture one, all is queued as in the first two steps. Off by default. */
void mw_executor_set_replay(MwExecutor *executor, bool wanted);
/* Why the device could not capture a graph; NULL: it could, or has not tried. */
const char *mw_executor_uncaptured(const MwExecutor *executor);
/* Queues one step; steps count from 1 and follow each other. At most mw_executor_most_queued steps
 * are queued and not finished; a device that does not queue does the step. A fault says the step in
 * which it happened: where earlier steps are not finished, it may be one of these. Where earlier
 * ones come to their end it is kept, and returned when they are finished. */
bool mw_executor_queue(MwExecutor *executor, int64_t step, const MwExecutorData *data,
                       MwFault *fault);
/* Waits for the first of the steps that are queued. metrics: [mw_plan_metric_count] those of the
 * step, NaN where this rank's mesh does not have them. A fault says the step. */
bool mw_executor_finish(MwExecutor *executor, double *metrics, MwFault *fault);
/* How many steps are queued and not finished, and how many may be: the same on all ranks. */
int mw_executor_queued(const MwExecutor *executor);
int mw_executor_most_queued(const MwExecutor *executor);
/* Queues and finishes a step while no other is queued. A fault does not say the step. */
bool mw_executor_step(MwExecutor *executor, int64_t step, const MwExecutorData *data,
                      double *metrics, MwFault *fault);

/* The parts of inputs, in the order in which a step asks for them. */
MwInputBox *mw_executor_inputs(MwArena *arena, const MwExecutor *executor, int *count);

/* The mesh that this rank belongs to. */
const MwPlanMesh *mw_executor_mesh(const MwExecutor *executor);
/* The address of a buffer's first slot on the device. */
void *mw_executor_buffer(const MwExecutor *executor, int buffer);

#endif
