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

/* Room for the message of this rank and those of all. */
typedef struct {
    size_t bytes; /* of a message */
    StepMessage *own;
    char *all;
} Messages;

static Messages messages_new(const MwRunState *run)
{
    Messages messages = {.bytes = sizeof(StepMessage) +
                                  sizeof(double) * (size_t)mw_plan_metric_count(run->plan)};
    messages.own = mw_arena_alloc(run->arena, messages.bytes);
    messages.all = mw_arena_alloc(run->arena, messages.bytes * (size_t)run->transport->size);
    return messages;
}

static const StepMessage *message_of(const Messages *messages, int rank)
{
    return (const StepMessage *)(messages->all + messages->bytes * (size_t)rank);
}

/* Exchanges the messages of all ranks: afterwards the own one has the signs that any rank has set,
 * and every metric from a rank that has it. */
static void share_messages(MwRunState *run, const Messages *messages)
{
    MwFault fault;
    StepMessage *own = messages->own;
    const MwPlanMesh *mesh;
    own->signs = (interrupted ? SIGN_INTERRUPTED : 0) |
                 (mw_ahead_fault(run->ahead) ? SIGN_DATA : 0) |
                 (run->saver && mw_saver_is_writing(run->saver) ? SIGN_WRITING : 0);
    if (!run->transport->table->allgather(run->transport, own, messages->bytes, messages->all,
                                          &fault))
        mw_run_end_all(run, run->step + 1, &fault);
    for (int r = 0; r < run->transport->size; r++)
        own->signs |= message_of(messages, r)->signs;
    for (int i = 0; i < mw_plan_metric_count(run->plan); i++) {
        mw_plan_metric(run->plan, i, &mesh);
        own->metrics[i] = message_of(messages, mesh->first_rank)->metrics[i];
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

static Outcome run_step(MwRunState *run, const Messages *messages)
{
    const MwExecutorData data = {.context = run,
                                 .input = give_input,
                                 .output = mw_outputs_due(run->outputs, run->step + 1) ? take_output
                                                                                       : NULL};
    MwFault fault;
    StepMessage *own = messages->own;
    double begin_s = mw_clock_s();
    if (!mw_executor_step(run->executor, run->step + 1, &data, own->metrics, &fault) ||
        !mw_outputs_end_step(run->outputs, run->step + 1, &fault))
        mw_run_end_all(run, run->step + 1, &fault);
    warn_uncaptured(run);
    share_messages(run, messages);
    return (Outcome){own->metrics, mw_clock_s() - begin_s, own->signs};
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
static bool finish_step(MwRunState *run, const Outcome *outcome)
{
    MwFault fault;
    if (outcome->signs & SIGN_DATA)
        return mw_run_agree(run, !mw_ahead_fault(run->ahead), mw_ahead_fault(run->ahead));
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

static bool is_eval_due(const MwRunState *run)
{
    return run->evaluation &&
           (run->step == run->options.steps || run->step % run->options.eval_every == 0);
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
    if (is_eval_due(run) && !(*signs & SIGN_INTERRUPTED)) {
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

static bool is_save_due(const MwRunState *run)
{
    int64_t every = run->options.checkpoint_every;
    return every > 0 && run->step % every == 0;
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
    if (is_last || is_save_due(run)) {
        end_save(run);
        end_unless(run, mw_saver_begin(run->saver, run->step, &fault), &fault);
        signs |= SIGN_WRITING;
    }
    if (is_last || !(signs & SIGN_WRITING))
        end_save(run);
}

int mw_run_steps(MwRunState *run)
{
    const Messages messages = messages_new(run);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt); /* what mpirun sends when it is interrupted */
    signal(SIGUSR1, on_interrupt); /* mpirun passes this one on, and leaves ranks their time */
    if (run->step >= run->options.steps && run->transport->rank == 0)
        printf("nothing to do up to step %lld: %lld are done\n", (long long)run->options.steps,
               (long long)run->step);
    while (run->step < run->options.steps) {
        Outcome outcome = run_step(run, &messages);
        if (!finish_step(run, &outcome)) {
            end_save(run);
            return MW_RUN_FAULT;
        }
        evaluate(run, &outcome.signs);
        if (outcome.signs & SIGN_DATA) {
            end_save(run);
            return MW_RUN_FAULT;
        }
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
