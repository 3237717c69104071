/* SPDX-License-Identifier: MIT */
/* Evaluation during a run: the metrics of the model on data of its own, without training. It runs
 * the part of the plan that the metrics depend on (runtime/plan/evaluation.h), on the weights as
 * they are, for some steps, and averages. Step m of an evaluation, from 1 on, takes batch m of the
 * data, in order, so that evaluations are comparable. Dropout is off, random numbers are those of
 * m, and operators that take the number of the step get that of the training step before. */
#ifndef MW_RUNTIME_EVALUATION_H
#define MW_RUNTIME_EVALUATION_H

#include "runtime/exec/executor.h"
#include "runtime/feed/feed.h"

typedef struct MwEvaluation MwEvaluation;

/* Made before `executor` is started. Collective over all ranks. NULL after a fault. */
MwEvaluation *mw_evaluation_new(MwArena *arena, const MwPlan *plan, const MwExecutor *executor,
                                MwTransport *transport, MwFault *fault);
/* Opens this rank's data. */
bool mw_evaluation_open(MwEvaluation *evaluation, const MwFeedsWanted *wanted, MwFault *fault);
/* `steps`: of one evaluation; 0: as many whole batches as the data has, a fault where it has no
 * rows. Collective over all ranks. */
bool mw_evaluation_set_steps(MwEvaluation *evaluation, int64_t steps, MwFault *fault);

/* Begins to read its data ahead. */
bool mw_evaluation_begin(MwEvaluation *evaluation, MwFault *fault);

typedef enum {
    MW_EVALUATION_DONE,
    MW_EVALUATION_STOPPED, /* a rank asked for it */
    MW_EVALUATION_NO_DATA, /* a rank lacks data: the fault says why on those that do */
    MW_EVALUATION_FAULT    /* of this rank alone */
} MwEvaluationEnd;

typedef struct {
    const double *metrics; /* [mw_plan_metric_count] averages, the same on all ranks */
    int64_t steps;
    double time_s;
    bool lacks_data; /* this rank */
} MwEvaluated;

/* Evaluates. `stops` is asked after each step. Collective over all ranks, the same end on all but
 * for MW_EVALUATION_FAULT. */
MwEvaluationEnd mw_evaluation_run(MwEvaluation *evaluation, bool (*stops)(void),
                                  MwEvaluated *evaluated, MwFault *fault);
void mw_evaluation_close(MwEvaluation **evaluation);

#endif
