/* SPDX-License-Identifier: MIT */
/* The inputs, outputs and metrics of an executor's steps, and the memory on the host that they go
 * through where the device's is another. */
#ifndef MW_RUNTIME_EXEC_EXECUTOR_DATA_H
#define MW_RUNTIME_EXEC_EXECUTOR_DATA_H

#include "runtime/exec/step_data.h"
#include "runtime/plan/plan.h"

typedef struct MwExecutor MwExecutor;

/* Places the inputs and metrics of a step in a slot of the memory that alloc_host gave, or will
 * give. Returns the size of the slot. */
int64_t mw_executor_place_data(MwExecutor *executor, MwArena *arena);
/* Places them, and allocates what the host needs. */
bool mw_executor_alloc_data(MwExecutor *executor, MwArena *arena, MwFault *fault);

/* The part of an input that this rank has in a task. */
MwBox mw_executor_input_shard(const MwExecutor *executor, int index, int micro_batch);
/* Fills the task's inputs and copies them to the device. During a capture only the copies are
 * queued: a replayed step is filled before it is replayed. */
bool mw_executor_feed(const MwExecutor *executor, const MwPlanTask *task,
                      const MwExecutorData *data, MwFault *fault);
/* Fills the inputs of all tasks. */
bool mw_executor_fill(const MwExecutor *executor, const MwExecutorData *data, MwFault *fault);
/* Takes the outputs of a task; the outputs of the step have program -1. */
bool mw_executor_take(const MwExecutor *executor, const MwPlanTask *task,
                      const MwExecutorData *data, MwFault *fault);

/* Queues that the metrics of the step, all of whose work is queued, go to the host, and that the
 * step ends. */
bool mw_executor_queue_metrics(const MwExecutor *executor, MwFault *fault);
/* Metrics of a step that is done. metrics: [mw_plan_metric_count] */
bool mw_executor_read_metrics(const MwExecutor *executor, int64_t step, double *metrics,
                              MwFault *fault);

#endif
