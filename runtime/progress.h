/* SPDX-License-Identifier: MIT */
/* What a run shows of itself: progress lines on standard output, the log of metrics as CSV, and
 * event files of TensorBoard. */
#ifndef MW_RUNTIME_PROGRESS_H
#define MW_RUNTIME_PROGRESS_H

#include "base/arena.h"
#include "runtime/exec/fault.h"
#include "runtime/plan/plan.h"

typedef struct MwProgress MwProgress;

/* What is written besides; NULL: not wanted. A log is appended to where first > 1. */
typedef struct {
    const char *log;         /* a file */
    const char *tensorboard; /* a folder */
} MwProgressFiles;

/* Steps `first` to `last` of a run. `evaluates`: the log has columns for evaluations. NULL after a
 * fault. */
MwProgress *mw_progress_open(MwArena *arena, const MwPlan *plan, int64_t first, int64_t last,
                             MwProgressFiles files, bool evaluates, MwFault *fault);
/* Step `step` took `time_s`. metrics: [mw_plan_metric_count] */
bool mw_progress_step(MwProgress *progress, int64_t step, const double *metrics, double time_s,
                      MwFault *fault);
/* Says what the evaluation after the step gave, and completes the step's row of the log. metrics:
 * [mw_plan_metric_count]; NULL: the step had none. Called after every step where the log has
 * columns for evaluations. */
bool mw_progress_evaluated(MwProgress *progress, int64_t step, const double *metrics,
                           int64_t eval_steps, double time_s, MwFault *fault);
bool mw_progress_close(MwProgress **progress, MwFault *fault);

#endif
