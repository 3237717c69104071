/* SPDX-License-Identifier: MIT */
/* The program: options, the plan's proof, and the life of a run: ranks, setting up, steps, end. */
#include "runtime/run.h"

#include "base/text.h"
#include "runtime/check/check.h"
#include "runtime/mpi/launcher.h"
#include "runtime/run_setup.h"
#include "runtime/run_steps.h"
#include "runtime/verify.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- Messages that are the same on all ranks ---- */

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
    fail_alike(MW_RUN_FAULT);
    if (!is_speaker())
        usleep((useconds_t)mw_min(rank, 8) * 200000);
    mw_diags_print(diags, stderr);
    if (!is_speaker())
        fprintf(stderr, "(it is so on rank %d; rank 0 found nothing wrong)\n", rank);
    return MW_RUN_FAULT;
}

/* ---- A run ---- */

/* `complete`: outputs are kept. */
static bool close_files(MwRunState *run, bool complete, MwFault *fault)
{
    return mw_outputs_close(&run->outputs, complete, fault) &&
           mw_progress_close(&run->progress, fault);
}

/* Makes one file of the traces of all ranks. Where that fails, those of the ranks stay. */
static bool finish_trace(MwRunState *run)
{
    MwFault fault = {0};
    if (!run->options.trace)
        return true;
    const bool good = mw_run_agree(run, mw_trace_join(run->trace, run->transport, &fault), &fault);
    mw_trace_close(&run->trace, !good);
    return good;
}

static int run_plan(MwRunState *run)
{
    int status = MW_RUN_FAULT;
    MwFault fault;
    if (!mw_run_connect(run)) {
        status = run->transport ? MW_RUN_USAGE : MW_RUN_FAULT;
    } else if (!mw_run_set_up(run)) {
        close_files(run, false, &fault);
        mw_trace_close(&run->trace, false);
    } else {
        status = mw_run_steps(run);
        if (!finish_trace(run))
            status = MW_RUN_FAULT;
        if (!mw_run_agree(run, close_files(run, run->step >= run->options.steps, &fault), &fault))
            status = MW_RUN_FAULT;
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
    return MW_RUN_FAULT;
}

static void print_version(const MwPlan *plan, const char *version)
{
    printf("meshwright %s\nmodel %s, for %d rank%s\n", version, plan->model, plan->rank_count,
           plan->rank_count == 1 ? "" : "s");
}

static int run_with_options(MwRunState *run)
{
    MwDiags *diags = mw_diags_new(run->arena);
    if (!mw_plan_check(run->plan, diags))
        return fail_with_diags(diags);
    if (run->options.check)
        return !is_speaker() || mw_plan_verify(run->arena, run->plan, stdout) ? 0 : MW_RUN_FAULT;
    return run_plan(run);
}

/* `program` is what stands before the options argv[1] ..., as a shell takes it. */
static int run_as(const char *program, int argc, char **argv, const MwPlan *plan,
                  const MwKernelEntry *kernels, const MwBackend *const *backends,
                  const char *version)
{
    MwArena *arena = mw_arena_new();
    MwRunState run = {.arena = arena,
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
        status = fail_alike(MW_RUN_USAGE);
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
