/* SPDX-License-Identifier: MIT */
#include "runtime/run_setup.h"

#include "base/cache.h"
#include "base/text.h"
#include "base/threads.h"
#include "runtime/epochs.h"
#include "runtime/exec/choices.h"
#include "runtime/exec/transport_solo.h"
#include "runtime/kernels_compile.h"
#include "runtime/mpi/launcher.h"
#include "runtime/mpi/transport.h"
#include "runtime/weights/checkpoint_fit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Steps of a run whose length nothing says. */
enum { DEFAULT_STEPS = 100 };

static void say_how_to_run(const MwRunState *run, int size)
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
bool mw_run_connect(MwRunState *run)
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

static bool need_backend(MwRunState *run, MwFault *fault)
{
    return run->backend || mw_backend_find(run->backends, run->plan->backend, fault);
}

static bool set_device(MwRunState *run, MwFault *fault)
{
    run->device =
        run->backend->device_new(run->arena, run->plan, run->kernels, run->options.threads, fault);
    if (run->device)
        run->device->kept_folder = run->options.host_folder;
    if (run->device && run->device->warning && run->transport->rank == 0)
        fprintf(stderr, "meshwright: warning: %s\n", run->device->warning);
    return run->device != NULL;
}

/* Threads that serve the device's connections share the cores of a rank with the one that queues
 * its work. */
static void warn_of_one_core(const MwRunState *run)
{
    if (run->transport->rank == 0 && mw_parallel_threads() == 1 &&
        sysconf(_SC_NPROCESSORS_ONLN) > 1)
        fprintf(
            stderr,
            "meshwright: warning: this rank may use one core alone, which slows its device down "
            "(Open MPI's mpirun takes --bind-to none)\n");
}

/* Devices of several ranks are connected by MPI, or by the other way of the backend, as they can or
 * as was asked for. */
static bool connect_devices(MwRunState *run, MwFault *fault)
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
    warn_of_one_core(run);
    const MwTransportOptions options = {.timeout_s = (double)run->options.timeout_s,
                                        .rounds_sums = run->options.rounded_sums,
                                        .mixes_graphs = run->plan->transfer_count > 0};
    MwTransport *devices = backend->transport_new(run->arena, run->transport, &options, fault);
    run->transport = devices ? devices : run->transport;
    return devices != NULL;
}

static bool set_kernels(MwRunState *run, MwFault *fault)
{
    if (run->kernels)
        return true;
    run->kernels = mw_kernels_compile(run->arena, run->plan, run->backend, run->transport, fault);
    return run->kernels != NULL;
}

static bool open_trace(MwRunState *run, MwFault *fault)
{
    if (!run->options.trace)
        return true;
    run->trace =
        mw_trace_open(run->arena, run->options.trace, run->plan, run->transport->rank, fault);
    return run->trace != NULL;
}

static bool make_executor(MwRunState *run, MwFault *fault)
{
    run->executor =
        mw_executor_new(run->arena, run->plan, run->device, run->transport, run->trace, fault);
    if (run->executor)
        mw_executor_set_replay(run->executor, !run->options.no_graphs);
    return run->executor != NULL;
}

static bool make_evaluation(MwRunState *run, MwFault *fault)
{
    if (!run->options.eval_every)
        return true;
    run->best_loss = INFINITY;
    run->evaluation =
        mw_evaluation_new(run->arena, run->plan, run->executor, run->transport, fault);
    return run->evaluation != NULL;
}

static bool open_feeds(MwRunState *run, MwFault *fault)
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
static bool set_lengths(MwRunState *run, MwFault *fault)
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

/* Choices of the file, for all ranks, and what they choose besides. Rank 0 keeps them: without a
 * folder for that nothing is chosen, since another run might choose otherwise. */
static bool tune(MwRunState *run, MwFault *fault)
{
    MwChoices *choices = run->device->choices;
    const bool is_first = run->transport->rank == 0;
    const char *folder = mw_cache_folder(run->arena);
    MwFault later; /* a fault after the first one */
    if (!run->device->table->tune || run->options.no_tuning || !folder)
        return true;
    const char *file = mw_choices_file(run->arena, folder, choices);
    if (is_first)
        mw_choices_read(run->arena, file, choices);
    const int kept = choices->list.count;
    bool good = mw_choices_share(run->arena, run->transport, choices, fault);
    good = good && mw_executor_tune(run->executor, fault);
    good = mw_choices_share(run->arena, run->transport, choices, good ? fault : &later) && good;
    if (!good || !is_first || choices->list.count == kept)
        return good;
    mw_cache_make_folder(run->arena, folder);
    if (!mw_choices_write(run->arena, file, choices))
        fprintf(
            stderr,
            "meshwright: warning: %s: %s: the fastest matrix products are not kept, and another "
            "run may choose others (--no-tuning)\n",
            file, strerror(errno));
    return true;
}

/* Rank 0 looks which checkpoint is the newest, for all. */
static bool find_checkpoint(MwRunState *run, MwFault *fault)
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
static bool find_weights(MwRunState *run, MwFault *fault)
{
    const MwRunOptions *options = &run->options;
    const MwInitialOptions wanted = {{options->weights.at, options->weights.count, options->map},
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
static void warn_of_later(const MwRunState *run)
{
    const char *dir = run->options.checkpoint;
    int64_t newest = mw_checkpoint_newest(dir);
    if (newest > run->step)
        fprintf(stderr,
                "meshwright: warning: %s holds a checkpoint of step %lld, and this run begins at "
                "step %lld: until it has passed that, --resume %s goes on from the other\n",
                dir, (long long)newest, (long long)run->step + 1, dir);
}

static bool prepare_checkpoints(MwRunState *run, MwFault *fault)
{
    if (!run->options.checkpoint || run->transport->rank != 0)
        return true;
    if (!mw_checkpoint_prepare(run->options.checkpoint, fault))
        return false;
    warn_of_later(run);
    return true;
}

static MwCheckpointRun checkpoint_run(const MwRunState *run)
{
    return (MwCheckpointRun){run->plan, run->executor, run->device, run->transport};
}

static bool start_weights(MwRunState *run, MwFault *fault)
{
    const MwCheckpointRun state = checkpoint_run(run);
    return mw_executor_start(run->executor, run->seed, fault) &&
           (!run->options.resume || mw_checkpoint_load(&state, &run->resume, fault)) &&
           (!run->initial || mw_initial_weights_load(run->initial, &state, fault));
}

static bool open_saver(MwRunState *run, MwFault *fault)
{
    const MwCheckpointRun state = checkpoint_run(run);
    if (!run->options.checkpoint)
        return true;
    run->saver = mw_saver_new(run->arena, &state, run->options.checkpoint, run->seed, fault);
    return run->saver != NULL;
}

/* From here on data is read ahead. */
static bool begin_data(MwRunState *run, MwFault *fault)
{
    int count;
    const MwInputBox *boxes = mw_executor_inputs(run->arena, run->executor, &count);
    run->ahead = mw_ahead_new(run->arena, run->feeds, boxes, count, fault);
    if (run->ahead)
        mw_ahead_begin(run->ahead, run->step + 1, run->options.steps);
    return run->ahead && (!run->evaluation || mw_evaluation_begin(run->evaluation, fault));
}

static bool open_outputs(MwRunState *run, MwFault *fault)
{
    const MwRunTexts *texts = &run->options.outputs;
    const MwOutputsWanted wanted = {
        texts->at, texts->count, run->step, run->options.steps, run->options.output_every,
        run->rows};
    run->outputs = mw_outputs_open(run->arena, run->plan, mw_executor_mesh(run->executor),
                                   run->transport, &wanted, fault);
    return run->outputs != NULL;
}

static bool open_progress(MwRunState *run, MwFault *fault)
{
    if (run->transport->rank != 0)
        return true;
    const MwProgressFiles files = {run->options.log, run->options.tensorboard};
    run->progress = mw_progress_open(run->arena, run->plan, run->step + 1, run->options.steps,
                                     files, run->evaluation != NULL, fault);
    return run->progress != NULL;
}

bool mw_run_set_up(MwRunState *run)
{
    static bool (*const stages[])(MwRunState *, MwFault *) = {
        need_backend,    find_checkpoint,
        find_weights,    prepare_checkpoints,
        set_kernels,     set_device,
        connect_devices, open_trace,
        make_executor,   make_evaluation,
        open_feeds,      set_lengths,
        begin_data,      tune,
        start_weights,   open_saver,
        open_outputs,    open_progress,
    };
    for (int i = 0; i < MW_COUNT(stages); i++) {
        MwFault fault = {0};
        bool good = stages[i](run, &fault);
        if (!good && fault.is_alone)
            mw_run_end_all(run, -1, &fault);
        if (!mw_run_agree(run, good, &fault))
            return false;
    }
    return true;
}
