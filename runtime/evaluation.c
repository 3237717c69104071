/* SPDX-License-Identifier: MIT */
#include "runtime/evaluation.h"

#include "base/clock.h"
#include "runtime/check/check.h"
#include "runtime/epochs.h"
#include "runtime/feed/ahead.h"
#include "runtime/plan/evaluation.h"

#include <string.h>

/* The message from a rank to all others after a step. */
typedef struct {
    int64_t stops, lacks_data;
    double metrics[]; /* [mw_plan_metric_count] those that its mesh has */
} Message;

struct MwEvaluation {
    MwArena *arena;
    const MwPlan *whole; /* of the run: feeds may name inputs that an evaluation does not need */
    const MwPlan *plan;  /* of the evaluation */
    MwTransport *transport;
    MwExecutor *executor;
    MwFeeds *feeds;
    MwAhead *ahead; /* reads them, the first steps while the run trains */
    int64_t steps;
    size_t message_bytes;
    Message *own;
    char *all; /* [ranks] messages */
    double *averages;
};

MwEvaluation *mw_evaluation_new(MwArena *arena, const MwPlan *plan, const MwExecutor *executor,
                                MwTransport *transport, MwFault *fault)
{
    MwEvaluation *evaluation = MW_NEW(arena, MwEvaluation, 1);
    const int metrics = mw_plan_metric_count(plan);
    const size_t bytes = sizeof(Message) + sizeof(double) * (size_t)metrics;
    *evaluation = (MwEvaluation){.arena = arena,
                                 .whole = plan,
                                 .plan = mw_plan_evaluation(arena, plan),
                                 .transport = transport,
                                 .message_bytes = bytes,
                                 .own = mw_arena_alloc(arena, bytes),
                                 .all = mw_arena_alloc(arena, bytes * (size_t)transport->size),
                                 .averages = MW_NEW(arena, double, metrics)};
    MW_ASSERT(mw_plan_check(evaluation->plan, mw_diags_new(arena)));
    if (mw_plan_loss_count(plan) == 0) {
        mw_fault_set(fault, "--eval-every needs a loss, and this model has none");
        return NULL;
    }
    evaluation->executor = mw_executor_beside(arena, executor, evaluation->plan, fault);
    return evaluation->executor ? evaluation : NULL;
}

bool mw_evaluation_open(MwEvaluation *evaluation, const MwFeedsWanted *wanted, MwFault *fault)
{
    evaluation->feeds = mw_feeds_open(evaluation->arena, evaluation->whole,
                                      mw_executor_mesh(evaluation->executor), wanted, fault);
    return evaluation->feeds != NULL;
}

bool mw_evaluation_set_steps(MwEvaluation *evaluation, int64_t steps, MwFault *fault)
{
    MwEpoch epoch;
    evaluation->steps = steps;
    if (steps)
        return true;
    if (!mw_epoch_agree(evaluation->arena, evaluation->transport, evaluation->feeds, &epoch, fault))
        return false;
    if (!epoch.rows)
        return mw_fault_set(fault, "--eval-steps is needed: the data of --eval-feed has no end");
    evaluation->steps = epoch.rows / epoch.batch;
    return true;
}

bool mw_evaluation_begin(MwEvaluation *evaluation, MwFault *fault)
{
    int count;
    const MwInputBox *boxes = mw_executor_inputs(evaluation->arena, evaluation->executor, &count);
    evaluation->ahead = mw_ahead_new(evaluation->arena, evaluation->feeds, boxes, count, fault);
    if (evaluation->ahead)
        mw_ahead_begin(evaluation->ahead, 1, evaluation->steps);
    return evaluation->ahead != NULL;
}

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    (void)fault;
    mw_ahead_input(((MwEvaluation *)context)->ahead, input, step, box, to);
    return true;
}

static const Message *message_of(const MwEvaluation *evaluation, int rank)
{
    return (const Message *)(evaluation->all + evaluation->message_bytes * (size_t)rank);
}

/* Adds the metrics of a step, each from a rank that has it, to the averages, and tells all ranks of
 * this one's signs and it of theirs. */
static bool share(MwEvaluation *evaluation, MwFault *fault)
{
    MwTransport *transport = evaluation->transport;
    Message *own = evaluation->own;
    const MwPlanMesh *mesh;
    if (!transport->table->allgather(transport, own, (int64_t)evaluation->message_bytes,
                                     evaluation->all, fault))
        return false;
    for (int r = 0; r < transport->size; r++) {
        own->stops |= message_of(evaluation, r)->stops;
        own->lacks_data |= message_of(evaluation, r)->lacks_data;
    }
    for (int i = 0; i < mw_plan_metric_count(evaluation->plan); i++) {
        mw_plan_metric(evaluation->plan, i, &mesh);
        evaluation->averages[i] +=
            message_of(evaluation, mesh->first_rank)->metrics[i] / (double)evaluation->steps;
    }
    return true;
}

static bool run_step(MwEvaluation *evaluation, int64_t step, bool (*stops)(void), MwFault *fault)
{
    const MwExecutorData data = {.context = evaluation, .input = give_input};
    Message *own = evaluation->own;
    if (!mw_executor_step(evaluation->executor, step, &data, own->metrics, fault))
        return mw_fault_prefix(fault, "evaluation");
    own->stops = stops();
    own->lacks_data = mw_ahead_fault(evaluation->ahead) != NULL;
    return share(evaluation, fault);
}

MwEvaluationEnd mw_evaluation_run(MwEvaluation *evaluation, bool (*stops)(void),
                                  MwEvaluated *evaluated, MwFault *fault)
{
    const double begin_s = mw_clock_s();
    memset(evaluation->averages, 0,
           sizeof *evaluation->averages * (size_t)mw_plan_metric_count(evaluation->plan));
    for (int64_t step = 1; step <= evaluation->steps; step++) {
        if (!run_step(evaluation, step, stops, fault))
            return MW_EVALUATION_FAULT;
        const MwFault *data_fault = mw_ahead_fault(evaluation->ahead);
        evaluated->lacks_data = data_fault != NULL;
        if (data_fault) {
            *fault = *data_fault;
            mw_fault_prefix(fault, "--eval-feed");
        }
        if (evaluation->own->lacks_data || evaluation->own->stops)
            return evaluation->own->lacks_data ? MW_EVALUATION_NO_DATA : MW_EVALUATION_STOPPED;
    }
    mw_ahead_begin(evaluation->ahead, 1, evaluation->steps);
    evaluated->metrics = evaluation->averages;
    evaluated->steps = evaluation->steps;
    evaluated->time_s = mw_clock_s() - begin_s;
    return MW_EVALUATION_DONE;
}

void mw_evaluation_close(MwEvaluation **evaluation)
{
    if (*evaluation) {
        mw_ahead_close(&(*evaluation)->ahead);
        mw_feeds_close(&(*evaluation)->feeds);
    }
    *evaluation = NULL;
}
