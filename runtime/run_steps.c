/* SPDX-License-Identifier: MIT */
#include "runtime/run_steps.h"

#include "base/clock.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- Interrupts ---- */

static volatile sig_atomic_t interrupted; /* a signal handler can reach nothing else */

static void on_interrupt(int signal_number)
{
    interrupted = 1;
    signal(signal_number, SIG_DFL); /* a second one ends at once */
}

/* Why a run ends after a step. */
enum {
    SIGN_INTERRUPTED = 1,
    SIGN_DATA = 2,
    SIGN_STALLED = 4,
    SIGN_WRITING = 8, /* a rank still writes its part of a checkpoint */
};

/* The message from a rank to all others after a step. */
typedef struct {
    int64_t signs;
    double metrics[]; /* [mw_plan_metric_count] those that its mesh has */
} StepMessage;

/* Steps that are queued and not finished begin with run->step + 1. */
typedef struct {
    size_t bytes; /* of a message */
    StepMessage *own;
    char *all;       /* [ranks] messages */
    double since_s;  /* when the time of the first step that is queued began */
    int64_t no_data; /* the first step that this rank lacks data for; 0: none */
    bool is_last;    /* no more are queued: a rank was interrupted */
} Steps;

static Steps steps_new(const MwRunState *run)
{
    Steps steps = {.bytes = sizeof(StepMessage) +
                            sizeof(double) * (size_t)mw_plan_metric_count(run->plan)};
    steps.own = mw_arena_alloc(run->arena, steps.bytes);
    steps.all = mw_arena_alloc(run->arena, steps.bytes * (size_t)run->transport->size);
    return steps;
}

static const StepMessage *message_of(const Steps *steps, int rank)
{
    return (const StepMessage *)(steps->all + steps->bytes * (size_t)rank);
}

/* Whether this rank lacks data for step run->step + 1. */
static bool lacks_data(const MwRunState *run, const Steps *steps)
{
    return steps->no_data && steps->no_data <= run->step + 1;
}

/* Exchanges the messages of all ranks after step run->step + 1 is finished: afterwards the own one
 * has the signs that any rank has set, and every metric from a rank that has it. A fault meanwhile
 * is of a step that is queued, if there is one. */
static void share_messages(MwRunState *run, const Steps *steps)
{
    MwFault fault;
    StepMessage *own = steps->own;
    const MwPlanMesh *mesh;
    own->signs = (interrupted ? SIGN_INTERRUPTED : 0) | (lacks_data(run, steps) ? SIGN_DATA : 0) |
                 (run->saver && mw_saver_is_writing(run->saver) ? SIGN_WRITING : 0);
    if (!run->transport->table->allgather(run->transport, own, (int64_t)steps->bytes, steps->all,
                                          &fault))
        mw_run_end_all(run, run->step + 1 + mw_executor_queued(run->executor), &fault);
    for (int r = 0; r < run->transport->size; r++)
        own->signs |= message_of(steps, r)->signs;
    for (int i = 0; i < mw_plan_metric_count(run->plan); i++) {
        mw_plan_metric(run->plan, i, &mesh);
        own->metrics[i] = message_of(steps, mesh->first_rank)->metrics[i];
    }
}

/* ---- Steps ---- */

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    (void)fault;
    mw_ahead_input(((MwRunState *)context)->ahead, input, step, box, to);
    return true;
}

static bool take_output(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                        const void *from, MwFault *fault)
{
    (void)step, (void)is_first;
    return mw_outputs_take(((MwRunState *)context)->outputs, output, box, from, fault);
}

/* The results of a step. */
typedef struct {
    const double *metrics;
    double time_s;
    int64_t signs;
} Outcome;

/* Says once that steps are launched one by one, which is slower. */
static void warn_uncaptured(MwRunState *run)
{
    const char *why = mw_executor_uncaptured(run->executor);
    if (!why || run->warned_uncaptured)
        return;
    run->warned_uncaptured = true;
    fprintf(stderr, "meshwright: warning: rank %d: steps run without CUDA graphs: %s\n",
            run->transport->rank, why);
}

static bool is_eval_due(const MwRunState *run, int64_t step)
{
    return run->evaluation && (step == run->options.steps || step % run->options.eval_every == 0);
}

static bool is_save_due(const MwRunState *run, int64_t step)
{
    int64_t every = run->options.checkpoint_every;
    return every > 0 && step % every == 0;
}

/* Whether the next step may be queued, which all ranks say alike. Behind a step that is not
 * finished it may if nothing needs the state between them, and nothing is taken out of it. */
static bool may_queue(const MwRunState *run, const Steps *steps)
{
    const int queued = mw_executor_queued(run->executor);
    const int64_t last = run->step + queued;
    if (last >= run->options.steps || steps->is_last)
        return false;
    return queued == 0 ||
           (queued < mw_executor_most_queued(run->executor) && !is_eval_due(run, last) &&
            !is_save_due(run, last) && !mw_outputs_due(run->outputs, last + 1));
}

static void queue_step(MwRunState *run, Steps *steps)
{
    const int queued = mw_executor_queued(run->executor);
    const int64_t step = run->step + queued + 1;
    const MwExecutorData data = {.context = run,
                                 .input = give_input,
                                 .output = mw_outputs_due(run->outputs, step) ? take_output : NULL};
    MwFault fault;
    if (queued == 0)
        steps->since_s = mw_clock_s();
    if (!mw_executor_queue(run->executor, step, &data, &fault))
        mw_run_end_all(run, -1, &fault);
    if (!mw_outputs_end_step(run->outputs, step, &fault))
        mw_run_end_all(run, step, &fault);
    if (!steps->no_data && mw_ahead_fault(run->ahead))
        steps->no_data = step;
    warn_uncaptured(run);
}

/* Waits for step run->step + 1. A signal is heeded after the last step that is queued. */
static Outcome wait_for_step(MwRunState *run, Steps *steps)
{
    MwFault fault;
    StepMessage *own = steps->own;
    const double begin_s = steps->since_s;
    if (!mw_executor_finish(run->executor, own->metrics, &fault))
        mw_run_end_all(run, -1, &fault);
    share_messages(run, steps);
    if (mw_executor_queued(run->executor) > 0) {
        steps->is_last = own->signs & SIGN_INTERRUPTED;
        own->signs &= ~(int64_t)SIGN_INTERRUPTED;
    }
    steps->since_s = mw_clock_s();
    return (Outcome){own->metrics, steps->since_s - begin_s, own->signs};
}

/* False where a loss is not finite. */
static bool check_losses(const MwRunState *run, const Outcome *outcome)
{
    const int count = mw_plan_loss_count(run->plan);
    const MwPlanMesh *mesh;
    for (int i = 0; i < count; i++) {
        if (isfinite(outcome->metrics[i]))
            continue;
        const char *name = mw_plan_metric(run->plan, i, &mesh)->name;
        if (run->transport->rank == 0)
            fprintf(stderr, "meshwright: the loss%s%s of step %lld is %f: training ends here\n",
                    count > 1 ? " " : "", count > 1 ? name : "", (long long)run->step,
                    outcome->metrics[i]);
        return false;
    }
    return true;
}

/* Counts the step and prints its line; false where no other may follow. */
static bool finish_step(MwRunState *run, const Steps *steps, const Outcome *outcome)
{
    MwFault fault;
    if (outcome->signs & SIGN_DATA)
        return mw_run_agree(run, !lacks_data(run, steps), mw_ahead_fault(run->ahead));
    if (run->progress &&
        !mw_progress_step(run->progress, run->step + 1, outcome->metrics, outcome->time_s, &fault))
        mw_run_end_all(run, run->step + 1, &fault);
    run->step++;
    return check_losses(run, outcome);
}

/* ---- Evaluations ---- */

static bool is_interrupted(void)
{
    return interrupted;
}

/* Keeps the lowest loss. True if it is too long since there was a lower one. */
static bool has_stalled(MwRunState *run, double loss)
{
    const int64_t most = run->options.stop_after_evals;
    if (loss < run->best_loss) {
        run->best_loss = loss;
        run->best_step = run->step;
        run->evals_since_best = 0;
    } else {
        run->evals_since_best++;
    }
    if (!most || run->evals_since_best < most)
        return false;
    if (run->transport->rank == 0)
        printf("stopped after step %lld: no evaluation since step %lld has a lower loss than its "
               "%.5f\n",
               (long long)run->step, (long long)run->best_step, run->best_loss);
    return true;
}

/* Evaluates after a step if that is due. `*signs`: SIGN_INTERRUPTED, SIGN_DATA or SIGN_STALLED
 * where the run is to end. */
static void evaluate(MwRunState *run, int64_t *signs)
{
    MwEvaluated evaluated = {0};
    MwFault fault;
    if (!run->evaluation)
        return;
    if (is_eval_due(run, run->step) && !(*signs & SIGN_INTERRUPTED)) {
        switch (mw_evaluation_run(run->evaluation, is_interrupted, &evaluated, &fault)) {
        case MW_EVALUATION_DONE:
            *signs |= has_stalled(run, evaluated.metrics[0]) ? SIGN_STALLED : 0;
            break;
        case MW_EVALUATION_STOPPED:
            *signs |= SIGN_INTERRUPTED;
            break;
        case MW_EVALUATION_NO_DATA:
            mw_run_agree(run, !evaluated.lacks_data, &fault);
            *signs |= SIGN_DATA;
            break;
        case MW_EVALUATION_FAULT:
            mw_run_end_all(run, run->step, &fault);
        }
    }
    if (run->progress && !mw_progress_evaluated(run->progress, run->step, evaluated.metrics,
                                                evaluated.steps, evaluated.time_s, &fault))
        mw_run_end_all(run, run->step, &fault);
}

static void end_unless(MwRunState *run, bool good, MwFault *fault)
{
    if (good)
        return;
    mw_fault_prefix(fault, "--checkpoint %s", run->options.checkpoint);
    mw_run_end_all(run, run->step, fault);
}

/* Ends the save that is open, if there is one. */
static void end_save(MwRunState *run)
{
    MwFault fault;
    if (run->saver && mw_saver_is_open(run->saver))
        end_unless(run, mw_saver_end(run->saver, &fault), &fault);
}

/* Saves the step where that is due, and ends a save that all ranks have written. The last is ended
 * before the run goes on to its end. */
static void keep_checkpoints(MwRunState *run, int64_t signs)
{
    const bool is_last =
        run->step == run->options.steps || signs & (SIGN_INTERRUPTED | SIGN_STALLED);
    MwFault fault;
    if (!run->saver)
        return;
    if (is_last || is_save_due(run, run->step)) {
        end_save(run);
        end_unless(run, mw_saver_begin(run->saver, run->step, &fault), &fault);
        signs |= SIGN_WRITING;
    }
    if (is_last || !(signs & SIGN_WRITING))
        end_save(run);
}

/* Ends a run that a fault ends which all ranks know of. What is queued behind the step is waited
 * for, since the device is freed next, and forgotten. */
static int end_early(MwRunState *run, const Steps *steps)
{
    MwFault ignored;
    while (mw_executor_queued(run->executor) > 0 &&
           mw_executor_finish(run->executor, steps->own->metrics, &ignored))
        ;
    end_save(run);
    return MW_RUN_FAULT;
}

int mw_run_steps(MwRunState *run)
{
    Steps steps = steps_new(run);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt); /* what mpirun sends when it is interrupted */
    signal(SIGUSR1, on_interrupt); /* mpirun passes this one on, and leaves ranks their time */
    if (run->step >= run->options.steps && run->transport->rank == 0)
        printf("nothing to do up to step %lld: %lld are done\n", (long long)run->options.steps,
               (long long)run->step);
    while (run->step < run->options.steps) {
        while (may_queue(run, &steps))
            queue_step(run, &steps);
        Outcome outcome = wait_for_step(run, &steps);
        if (!finish_step(run, &steps, &outcome))
            return end_early(run, &steps);
        evaluate(run, &outcome.signs);
        if (outcome.signs & SIGN_DATA)
            return end_early(run, &steps);
        bool stops = outcome.signs & SIGN_INTERRUPTED, ends = outcome.signs & SIGN_STALLED;
        keep_checkpoints(run, outcome.signs);
        if (stops && run->transport->rank == 0)
            fprintf(stderr, "meshwright: interrupted after step %lld\n", (long long)run->step);
        if (stops)
            return MW_RUN_INTERRUPTED;
        if (ends)
            break;
    }
    return 0;
}
