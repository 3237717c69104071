/* SPDX-License-Identifier: MIT */
/* The life of a run: options, the plan's proof, ranks, device, arena, data, weights, steps, end.
 *
 * Setting up is done in stages; after each all ranks agree whether to go on, so that what one rank
 * cannot do ends all of them with one message. So it is after each step, to the end of which a rank
 * goes on zeros where its data cannot be had. At any other fault in a step, a rank says why and
 * aborts all. */
#include "runtime/run.h"

#include "base/clock.h"
#include "base/text.h"
#include "runtime/check/check.h"
#include "runtime/data/ahead.h"
#include "runtime/data/feed.h"
#include "runtime/data/outputs.h"
#include "runtime/epochs.h"
#include "runtime/evaluation.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/trace.h"
#include "runtime/exec/transport_solo.h"
#include "runtime/kernels_compile.h"
#include "runtime/mpi/launcher.h"
#include "runtime/mpi/transport.h"
#include "runtime/progress.h"
#include "runtime/run_options.h"
#include "runtime/verify.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/checkpoint_fit.h"
#include "runtime/weights/initial.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    MwArena *arena;
    const MwPlan *plan;
    const MwKernelEntry *kernels;
    const MwBackend *const *backends; /* of the program */
    const MwBackend *backend;         /* of the plan; NULL: the program has none */
    const char *program;              /* what stands before the options */
    int argc;                         /* the options are argv[1] ... */
    char **argv;
    MwRunOptions options;
    MwTransport *transport;
    MwDevice *device;
    MwExecutor *executor;
    MwFeeds *feeds;
    MwAhead *ahead;           /* reads them */
    MwEvaluation *evaluation; /* NULL: the run has none */
    double best_loss;         /* the lowest of all evaluations */
    int64_t best_step, evals_since_best;
    MwOutputs *outputs;
    MwTrace *trace;
    MwProgress *progress;      /* on rank 0 */
    MwCheckpoint resume;       /* what the run goes on from; step 0: nothing */
    MwInitialWeights *initial; /* NULL: weights begin as the model says */
    MwSaver *saver;            /* NULL: the run is not saved */
    uint64_t seed;
    int64_t step; /* the last that was done */
    int64_t rows; /* that outputs have, where the run ends with its data; 0: those of all batches */
    bool data_failed;
    MwFault data_fault; /* the first of the step, where data_failed */
} Run;

/* Steps of a run whose length nothing says. */
enum { DEFAULT_STEPS = 100 };

enum { STATUS_FAULT = 1, STATUS_USAGE = 2, STATUS_INTERRUPTED = 130 };

/* ---- Ranks and messages ---- */

/* Says whether this rank prints the messages that are the same on all ranks. */
static bool is_speaker(void)
{
    return mw_launcher_rank() <= 0;
}

/* Returns the status of a rank that ends before it is connected. Launchers end all ranks when one
 * fails, so the other ranks wait until the speaker has ended. */
static int fail_alike(int status)
{
    enum { PATIENCE_S = 5 };
    if (!is_speaker())
        sleep(PATIENCE_S);
    return status;
}

/* Says what is wrong with the plan. A rank that is still there after the speaker had its time has
 * another file than the speaker, and speaks for itself: the lowest first. */
static int fail_with_diags(const MwDiags *diags)
{
    const int rank = mw_launcher_rank();
    fail_alike(STATUS_FAULT);
    if (!is_speaker())
        usleep((useconds_t)mw_min(rank, 8) * 200000);
    mw_diags_print(diags, stderr);
    if (!is_speaker())
        fprintf(stderr, "(it is so on rank %d; rank 0 found nothing wrong)\n", rank);
    return STATUS_FAULT;
}

typedef struct {
    int failed;
    MwFault fault;
} Report;

/* False on every rank if `good` is false on one; the first such rank's fault is then printed. */
static bool agree(Run *run, bool good, const MwFault *fault)
{
    MwTransport *transport = run->transport;
    Report own = {.failed = !good};
    MwFault trouble = {0};
    if (!good)
        own.fault = *fault;
    Report *all = MW_NEW(run->arena, Report, transport->size);
    if (!transport->table->allgather(transport, &own, sizeof own, all, &trouble)) {
        fprintf(stderr, "meshwright: rank %d: %s\n", transport->rank, trouble.text);
        transport->table->abort(transport, STATUS_FAULT);
    }
    int failed = 0, first = -1;
    for (int r = 0; r < transport->size; r++) {
        failed += all[r].failed;
        first = first < 0 && all[r].failed ? r : first;
    }
    if (failed && transport->rank == 0 && failed == transport->size)
        fprintf(stderr, "meshwright: %s\n", all[0].fault.text);
    else if (failed && transport->rank == 0)
        fprintf(stderr, "meshwright: rank %d: %s\n", first, all[first].fault.text);
    return failed == 0;
}

/* Ends all ranks. Ranks that meet the same fault at once leave the message to the lowest. */
static MW_NORETURN void end_all(Run *run, int64_t step, const MwFault *fault)
{
    MwFault ignored;
    mw_outputs_close(&run->outputs, false, &ignored);
    usleep((useconds_t)mw_min(run->transport->rank, 8) * 50000);
    if (run->transport->size > 1)
        fprintf(stderr, "meshwright: rank %d: step %lld: %s\n", run->transport->rank,
                (long long)step, fault->text);
    else
        fprintf(stderr, "meshwright: step %lld: %s\n", (long long)step, fault->text);
    run->transport->table->abort(run->transport, STATUS_FAULT);
}

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

static Messages messages_new(const Run *run)
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
static void share_messages(Run *run, const Messages *messages)
{
    MwFault fault;
    StepMessage *own = messages->own;
    const MwPlanMesh *mesh;
    own->signs = (interrupted ? SIGN_INTERRUPTED : 0) | (run->data_failed ? SIGN_DATA : 0) |
                 (run->saver && mw_saver_is_writing(run->saver) ? SIGN_WRITING : 0);
    if (!run->transport->table->allgather(run->transport, own, messages->bytes, messages->all,
                                          &fault))
        end_all(run, run->step + 1, &fault);
    for (int r = 0; r < run->transport->size; r++)
        own->signs |= message_of(messages, r)->signs;
    for (int i = 0; i < mw_plan_metric_count(run->plan); i++) {
        mw_plan_metric(run->plan, i, &mesh);
        own->metrics[i] = message_of(messages, mesh->first_rank)->metrics[i];
    }
}

/* ---- Stages of setting up ---- */

static void say_how_to_run(const Run *run, int size)
{
    MwText words = {.arena = run->arena};
    int ranks = run->plan->rank_count;
    if (run->transport->rank != 0)
        return;
    for (int i = 1; i < run->argc; i++) {
        mw_text_add(&words, " ");
        mw_text_add_word(&words, run->argv[i]);
    }
    fprintf(stderr,
            "meshwright: this plan is for %d rank%s and was started on %d. Run it as\n    "
            "mpirun -n %d %s%s\n(with --oversubscribe after mpirun where the machine has fewer "
            "cores)\n",
            ranks, ranks == 1 ? "" : "s", size, ranks, run->program, words.at ? words.at : "");
}

/* MPI is needed by plans for several ranks, and to tell that too many were started. */
static bool connect_ranks(Run *run)
{
    MwFault fault, none;
    run->backend = mw_backend_find(run->backends, run->plan->backend, &none);
    if (run->plan->rank_count == 1 && mw_launcher_size() <= 1)
        run->transport = mw_transport_solo_new(run->arena, 0, 1);
    else
        run->transport = mw_transport_mpi_new(run->arena, !run->options.no_shared_memory, &fault);
    if (!run->transport) {
        fprintf(stderr, "meshwright: %s\n", fault.text);
        return false;
    }
    if (run->transport->size == run->plan->rank_count)
        return true;
    say_how_to_run(run, run->transport->size);
    return false;
}

static bool need_backend(Run *run, MwFault *fault)
{
    return run->backend || mw_backend_find(run->backends, run->plan->backend, fault);
}

static bool set_device(Run *run, MwFault *fault)
{
    run->device =
        run->backend->device_new(run->arena, run->plan, run->kernels, run->options.threads, fault);
    if (run->device && run->device->warning && run->transport->rank == 0)
        fprintf(stderr, "meshwright: warning: %s\n", run->device->warning);
    return run->device != NULL;
}

/* Devices of several ranks are connected by MPI, or by the other way of the backend, as they can or
 * as was asked for. */
static bool connect_devices(Run *run, MwFault *fault)
{
    const MwBackend *backend = run->backend;
    const char *wanted = run->options.transport;
    const bool is_other = backend->transport && run->transport->size > 1;
    bool possible = false;
    if (wanted && strcmp(wanted, "mpi") == 0)
        return true;
    if (wanted && (!backend->transport || strcmp(wanted, backend->transport) != 0))
        return mw_fault_set(fault,
                            "--transport %s: the backend '%s' has no such way to connect devices",
                            wanted, mw_backend_info(backend->id)->name);
    if (is_other && !backend->transport_is_possible(run->arena, run->transport, &possible, fault))
        return false;
    if (is_other && wanted && !possible)
        return mw_fault_set(fault,
                            "--transport %s needs a device for every rank, and ranks share one; "
                            "--transport mpi does not",
                            wanted);
    if (is_other && !possible && run->transport->rank == 0)
        fprintf(stderr,
                "meshwright: warning: ranks share a device, so all exchange by way of the hosts, "
                "which is slow (--transport mpi asks for it)\n");
    if (!possible)
        return true;
    MwTransport *devices =
        backend->transport_new(run->arena, run->transport, (double)run->options.timeout_s, fault);
    run->transport = devices ? devices : run->transport;
    return devices != NULL;
}

static bool set_kernels(Run *run, MwFault *fault)
{
    if (run->kernels)
        return true;
    run->kernels = mw_kernels_compile(run->arena, run->plan, run->backend, run->transport, fault);
    return run->kernels != NULL;
}

static bool open_trace(Run *run, MwFault *fault)
{
    if (!run->options.trace)
        return true;
    run->trace =
        mw_trace_open(run->arena, run->options.trace, run->plan, run->transport->rank, fault);
    return run->trace != NULL;
}

static bool make_executor(Run *run, MwFault *fault)
{
    run->executor =
        mw_executor_new(run->arena, run->plan, run->device, run->transport, run->trace, fault);
    if (run->executor)
        mw_executor_set_replay(run->executor, !run->options.no_graphs);
    return run->executor != NULL;
}

static bool make_evaluation(Run *run, MwFault *fault)
{
    if (!run->options.eval_every)
        return true;
    run->best_loss = INFINITY;
    run->evaluation =
        mw_evaluation_new(run->arena, run->plan, run->executor, run->transport, fault);
    return run->evaluation != NULL;
}

static bool open_feeds(Run *run, MwFault *fault)
{
    const MwRunTexts *texts = &run->options.feeds;
    const MwFeedsWanted wanted = {.texts = texts->at,
                                  .count = texts->count,
                                  .seed = run->seed,
                                  .is_shuffled = run->options.shuffle,
                                  .option = "--feed"};
    run->feeds =
        mw_feeds_open(run->arena, run->plan, mw_executor_mesh(run->executor), &wanted, fault);
    const MwFeedsWanted eval = {.texts = run->options.eval_feeds.at,
                                .count = run->options.eval_feeds.count,
                                .seed = run->seed,
                                .option = "--eval-feed"};
    return run->feeds && (!run->evaluation || mw_evaluation_open(run->evaluation, &eval, fault));
}

/* Sets how many steps the run has, and each evaluation. */
static bool set_lengths(Run *run, MwFault *fault)
{
    MwRunOptions *options = &run->options;
    const bool infers = mw_plan_loss_count(run->plan) == 0;
    MwEpoch epoch;
    if (!mw_epoch_agree(run->arena, run->transport, run->feeds, &epoch, fault) ||
        (run->evaluation && !mw_evaluation_set_steps(run->evaluation, options->eval_steps, fault)))
        return false;
    if (options->steps < 0 && !options->epochs && infers && epoch.rows)
        options->epochs = 1;
    if (options->epochs) {
        if (!mw_epoch_steps(&epoch, options->epochs, &options->steps, fault))
            return mw_fault_prefix(fault, "--epochs %lld", (long long)options->epochs);
        run->rows = infers ? epoch.rows * options->epochs : 0;
        return true;
    }
    options->steps = options->steps < 0 ? DEFAULT_STEPS : options->steps;
    return true;
}

/* Rank 0 looks which checkpoint is the newest, for all. */
static bool find_checkpoint(Run *run, MwFault *fault)
{
    MwTransport *transport = run->transport;
    MwCheckpoint own = {0}, *all = MW_NEW(run->arena, MwCheckpoint, transport->size);
    bool good = !run->options.resume || transport->rank != 0 ||
                (mw_checkpoint_find(run->options.resume, &own, fault) &&
                 mw_checkpoint_fits(&own, run->plan, fault));
    if (!transport->table->allgather(transport, &own, sizeof own, all, fault))
        return false;
    run->resume = all[0];
    /* A model that does not train begins with its data, whatever its weights have seen. */
    run->step = mw_plan_loss_count(run->plan) ? run->resume.step : 0;
    run->seed = run->options.resume      ? run->resume.seed
                : run->options.seed >= 0 ? (uint64_t)run->options.seed
                                         : 1;
    return good;
}

/* All ranks open the files; rank 0 compares them with the plan. */
static bool find_weights(Run *run, MwFault *fault)
{
    const MwRunOptions *options = &run->options;
    const MwInitialOptions wanted = {options->weights.at, options->weights.count, options->map,
                                     options->missing && strcmp(options->missing, "init") == 0};
    if (options->weights.count == 0)
        return true;
    run->initial = mw_initial_weights_open(run->arena, run->plan, &wanted, fault);
    return (run->initial &&
            (run->transport->rank != 0 || mw_initial_weights_check(run->initial, stderr, fault))) ||
           mw_fault_prefix(fault, "--weights");
}

/* Later checkpoints than those to come are of another run. They stay, since they may be all that is
 * left of it, but the user should know which is gone on from. */
static void warn_of_later(const Run *run)
{
    const char *dir = run->options.checkpoint;
    int64_t newest = mw_checkpoint_newest(dir);
    if (newest > run->step)
        fprintf(stderr,
                "meshwright: warning: %s holds a checkpoint of step %lld, and this run begins at "
                "step %lld: until it has passed that, --resume %s goes on from the other\n",
                dir, (long long)newest, (long long)run->step + 1, dir);
}

static bool prepare_checkpoints(Run *run, MwFault *fault)
{
    if (!run->options.checkpoint || run->transport->rank != 0)
        return true;
    if (!mw_checkpoint_prepare(run->options.checkpoint, fault))
        return false;
    warn_of_later(run);
    return true;
}

static MwCheckpointRun checkpoint_run(const Run *run)
{
    return (MwCheckpointRun){run->plan, run->executor, run->device, run->transport};
}

static bool start_weights(Run *run, MwFault *fault)
{
    const MwCheckpointRun state = checkpoint_run(run);
    return mw_executor_start(run->executor, run->seed, fault) &&
           (!run->options.resume || mw_checkpoint_load(&state, &run->resume, fault)) &&
           (!run->initial || mw_initial_weights_load(run->initial, &state, fault));
}

static bool open_saver(Run *run, MwFault *fault)
{
    const MwCheckpointRun state = checkpoint_run(run);
    if (!run->options.checkpoint)
        return true;
    run->saver = mw_saver_new(run->arena, &state, run->options.checkpoint, run->seed, fault);
    return run->saver != NULL;
}

/* From here on data is read ahead. */
static bool begin_data(Run *run, MwFault *fault)
{
    int count;
    const MwInputBox *boxes = mw_executor_inputs(run->arena, run->executor, &count);
    run->ahead = mw_ahead_new(run->arena, run->feeds, boxes, count, fault);
    if (run->ahead)
        mw_ahead_begin(run->ahead, run->step + 1, run->options.steps);
    return run->ahead && (!run->evaluation || mw_evaluation_begin(run->evaluation, fault));
}

static bool open_outputs(Run *run, MwFault *fault)
{
    const MwRunTexts *texts = &run->options.outputs;
    const MwOutputsWanted wanted = {
        texts->at, texts->count, run->step, run->options.steps, run->options.output_every,
        run->rows};
    run->outputs = mw_outputs_open(run->arena, run->plan, mw_executor_mesh(run->executor),
                                   run->transport, &wanted, fault);
    return run->outputs != NULL;
}

static bool open_progress(Run *run, MwFault *fault)
{
    if (run->transport->rank != 0)
        return true;
    const MwProgressFiles files = {run->options.log, run->options.tensorboard};
    run->progress = mw_progress_open(run->arena, run->plan, run->step + 1, run->options.steps,
                                     files, run->evaluation != NULL, fault);
    return run->progress != NULL;
}

static bool set_up(Run *run)
{
    static bool (*const stages[])(Run *, MwFault *) = {
        need_backend, find_checkpoint, find_weights, prepare_checkpoints, set_kernels,
        set_device,   connect_devices, open_trace,   make_executor,       make_evaluation,
        open_feeds,   set_lengths,     begin_data,   start_weights,       open_saver,
        open_outputs, open_progress,
    };
    for (int i = 0; i < MW_COUNT(stages); i++) {
        MwFault fault = {0};
        bool good = stages[i](run, &fault);
        if (!agree(run, good, &fault))
            return false;
    }
    return true;
}

/* ---- Steps ---- */

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    Run *run = context;
    if (mw_ahead_input(run->ahead, input, step, box, to, fault))
        return true;
    if (!run->data_failed) {
        mw_fault_prefix(fault, "step %lld: input %s", (long long)step,
                        mw_executor_mesh(run->executor)->inputs[input].name);
        run->data_failed = true;
        run->data_fault = *fault;
    }
    memset(to, 0, (size_t)(mw_box_held_elements(box) * mw_type_bytes(box->global.type)));
    return true;
}

static bool take_output(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                        const void *from, MwFault *fault)
{
    (void)step, (void)is_first;
    return mw_outputs_take(((Run *)context)->outputs, output, box, from, fault);
}

/* The results of a step. */
typedef struct {
    const double *metrics;
    double time_s;
    int64_t signs;
} Outcome;

static Outcome run_step(Run *run, const Messages *messages)
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
        end_all(run, run->step + 1, &fault);
    share_messages(run, messages);
    return (Outcome){own->metrics, mw_clock_s() - begin_s, own->signs};
}

/* False where a loss is not finite. */
static bool check_losses(const Run *run, const Outcome *outcome)
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
static bool finish_step(Run *run, const Outcome *outcome)
{
    MwFault fault;
    if (outcome->signs & SIGN_DATA)
        return agree(run, !run->data_failed, &run->data_fault);
    if (run->progress &&
        !mw_progress_step(run->progress, run->step + 1, outcome->metrics, outcome->time_s, &fault))
        end_all(run, run->step + 1, &fault);
    run->step++;
    return check_losses(run, outcome);
}

/* ---- Evaluations ---- */

static bool is_interrupted(void)
{
    return interrupted;
}

static bool is_eval_due(const Run *run)
{
    return run->evaluation &&
           (run->step == run->options.steps || run->step % run->options.eval_every == 0);
}

/* Keeps the lowest loss. True if it is too long since there was a lower one. */
static bool has_stalled(Run *run, double loss)
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
static void evaluate(Run *run, int64_t *signs)
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
            agree(run, !evaluated.lacks_data, &fault);
            *signs |= SIGN_DATA;
            break;
        case MW_EVALUATION_FAULT:
            end_all(run, run->step, &fault);
        }
    }
    if (run->progress && !mw_progress_evaluated(run->progress, run->step, evaluated.metrics,
                                                evaluated.steps, evaluated.time_s, &fault))
        end_all(run, run->step, &fault);
}

static bool is_save_due(const Run *run)
{
    int64_t every = run->options.checkpoint_every;
    return every > 0 && run->step % every == 0;
}

static void end_unless(Run *run, bool good, MwFault *fault)
{
    if (good)
        return;
    mw_fault_prefix(fault, "--checkpoint %s", run->options.checkpoint);
    end_all(run, run->step, fault);
}

/* Ends the save that is open, if there is one. */
static void end_save(Run *run)
{
    MwFault fault;
    if (run->saver && mw_saver_is_open(run->saver))
        end_unless(run, mw_saver_end(run->saver, &fault), &fault);
}

/* Saves the step where that is due, and ends a save that all ranks have written. The last is ended
 * before the run goes on to its end. */
static void keep_checkpoints(Run *run, int64_t signs)
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

static int run_steps(Run *run)
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
            return STATUS_FAULT;
        }
        evaluate(run, &outcome.signs);
        if (outcome.signs & SIGN_DATA) {
            end_save(run);
            return STATUS_FAULT;
        }
        bool stops = outcome.signs & SIGN_INTERRUPTED, ends = outcome.signs & SIGN_STALLED;
        keep_checkpoints(run, outcome.signs);
        if (stops && run->transport->rank == 0)
            fprintf(stderr, "meshwright: interrupted after step %lld\n", (long long)run->step);
        if (stops)
            return STATUS_INTERRUPTED;
        if (ends)
            break;
    }
    return 0;
}

/* `complete`: outputs are kept. */
static bool close_files(Run *run, bool complete, MwFault *fault)
{
    return mw_outputs_close(&run->outputs, complete, fault) &&
           mw_progress_close(&run->progress, fault);
}

/* Makes one file of the traces of all ranks. Where that fails, those of the ranks stay. */
static bool finish_trace(Run *run)
{
    MwFault fault = {0};
    if (!run->options.trace)
        return true;
    const bool good = agree(run, mw_trace_join(run->trace, run->transport, &fault), &fault);
    mw_trace_close(&run->trace, !good);
    return good;
}

static int run_plan(Run *run)
{
    int status = STATUS_FAULT;
    MwFault fault;
    if (!connect_ranks(run)) {
        status = run->transport ? STATUS_USAGE : STATUS_FAULT;
    } else if (!set_up(run)) {
        close_files(run, false, &fault);
        mw_trace_close(&run->trace, false);
    } else {
        status = run_steps(run);
        if (!finish_trace(run))
            status = STATUS_FAULT;
        if (!agree(run, close_files(run, run->step >= run->options.steps, &fault), &fault))
            status = STATUS_FAULT;
    }
    mw_saver_free(&run->saver);
    mw_initial_weights_close(&run->initial);
    mw_ahead_close(&run->ahead);
    mw_feeds_close(&run->feeds);
    mw_evaluation_close(&run->evaluation);
    mw_transport_free(&run->transport, run->device);
    mw_device_free(&run->device);
    return status;
}

/* ---- The program ---- */

static int print_plan(MwArena *arena, const MwPlan *plan)
{
    MwText text = {.arena = arena};
    mw_plan_print(&text, plan);
    if (fwrite(text.at, 1, text.bytes, stdout) == text.bytes && fflush(stdout) == 0)
        return 0;
    fprintf(stderr, "meshwright: cannot write the plan: %s\n", strerror(errno));
    return STATUS_FAULT;
}

static void print_version(const MwPlan *plan, const char *version)
{
    printf("meshwright %s\nmodel %s, for %d rank%s\n", version, plan->model, plan->rank_count,
           plan->rank_count == 1 ? "" : "s");
}

static int run_with_options(Run *run)
{
    MwDiags *diags = mw_diags_new(run->arena);
    if (!mw_plan_check(run->plan, diags))
        return fail_with_diags(diags);
    if (run->options.check)
        return !is_speaker() || mw_plan_verify(run->arena, run->plan, stdout) ? 0 : STATUS_FAULT;
    return run_plan(run);
}

/* `program` is what stands before the options argv[1] ..., as a shell takes it. */
static int run_as(const char *program, int argc, char **argv, const MwPlan *plan,
                  const MwKernelEntry *kernels, const MwBackend *const *backends,
                  const char *version)
{
    MwArena *arena = mw_arena_new();
    Run run = {.arena = arena,
               .plan = plan,
               .kernels = kernels,
               .backends = backends,
               .program = program,
               .argc = argc,
               .argv = argv};
    const char *wrong = mw_run_options(arena, argc, argv, &run.options);
    int status = 0;
    if (wrong) {
        if (is_speaker())
            fprintf(stderr, "meshwright: %s\n(%s --help lists the options)\n", wrong, program);
        status = fail_alike(STATUS_USAGE);
    } else if (run.options.help) {
        if (is_speaker())
            mw_run_help(stdout, program);
    } else if (run.options.version) {
        if (is_speaker())
            print_version(plan, version);
    } else if (run.options.print_plan) {
        status = is_speaker() ? print_plan(arena, plan) : 0;
    } else {
        status = run_with_options(&run);
    }
    mw_arena_free(&arena);
    return status;
}

int mw_run_main(int argc, char **argv, const MwPlan *plan, const MwKernelEntry *kernels,
                const MwBackend *const *backends, const char *version)
{
    MwArena *arena = mw_arena_new();
    MwText program = {.arena = arena};
    mw_text_add_word(&program, argv[0]);
    int status = run_as(program.at, argc, argv, plan, kernels, backends, version);
    mw_arena_free(&arena);
    return status;
}

int mw_run_text(int argc, char **argv, const char *text, size_t bytes, const MwKernelEntry *kernels,
                const MwBackend *const *backends, const char *version)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    const MwSource source = {argv[0], text, bytes};
    const MwPlan *plan = mw_plan_parse(arena, &source, diags);
    int status =
        plan ? mw_run_main(argc, argv, plan, kernels, backends, version) : fail_with_diags(diags);
    mw_arena_free(&arena);
    return status;
}

int mw_run_file(int argc, char **argv, const MwBackend *const *backends, const char *version)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwText program = {.arena = arena};
    mw_text_add_word(&program, argv[0]);
    mw_text_add(&program, " ");
    mw_text_add_word(&program, argv[1]);
    const MwPlan *plan = mw_plan_read(arena, argv[1], diags);
    int status = plan ? run_as(program.at, argc - 1, argv + 1, plan, NULL, backends, version)
                      : fail_with_diags(diags);
    mw_arena_free(&arena);
    return status;
}
