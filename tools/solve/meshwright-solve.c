/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright-solve PROBLEM.json[.gz]` solves any strategy-selection problem.
 *
 * Progress goes to standard error. The summary goes to standard output, and so do the strategies
 * unless they go to a file. An output file is replaced only by a complete one. */
#include "base/file.h"
#include "base/new_file.h"
#include "solver/stop.h"
#include "tools/argument.h"
#include "tools/solve/answer.h"
#include "tools/solve/options.h"
#include "tools/solve/progress.h"
#include "tools/version.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Set by the first SIGINT or SIGTERM; a signal handler has no other way to stop the search. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    static const char said[] = "\nstopping with the best answer so far; once more ends at once\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, said, sizeof said - 1);
    (void)written;
    interrupted = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* who no longer reads the progress may still want the answer */
}

typedef struct {
    MwArena *arena;
    MwSolveToolOptions options;
    double start_s;
    MwDiags *diags;
    MwNewFile output; /* open if options.output is given */
} Run;

static bool refuse_output(Run *run, const char *why)
{
    mw_diag_error(run->diags, mw_span_none(), "cannot write %s: %s", run->options.output, why);
    return false;
}

/* Opens the output before the search, so that a file that cannot be written is reported at once. */
static bool open_output(Run *run)
{
    const MwSolveToolOptions *options = &run->options;
    if (!options->output)
        return true;
    if (mw_file_is_same(options->output, options->problem))
        return refuse_output(run, "it is the problem");
    return mw_new_file_open(&run->output, options->output) || refuse_output(run, strerror(errno));
}

static MwProblem *load(Run *run)
{
    MwProblem *problem = mw_problem_load(run->arena, run->options.problem, run->diags);
    if (problem && run->options.has_usage_limit)
        problem->usage_limit = run->options.usage_limit;
    return problem;
}

static void show_size(const Run *run, const MwProblem *problem)
{
    int64_t strategies = 0;
    for (int i = 0; i < problem->node_count; i++)
        strategies += problem->nodes[i].strategy_count;
    fprintf(stderr, "%s: %d nodes, %lld strategies, %d edges; read in %.1f s\n",
            run->options.problem, problem->node_count, (long long)strategies, problem->edge_count,
            mw_clock_s() - run->start_s);
}

static MwSolution solve(const Run *run, const MwProblem *problem)
{
    const MwSolveToolOptions *wanted = &run->options;
    MwSolveOptions options = wanted->solve;
    MwSolveProgress progress =
        mw_solve_progress_new(stderr, isatty(STDERR_FILENO) && !wanted->verbose, run->start_s);
    if (!wanted->quiet) {
        options.report = mw_solve_progress_report;
        options.context = &progress;
    }
    if (wanted->verbose)
        options.log = stderr;
    if (options.time_limit_s > 0) /* subtracts the time of reading; 0 would mean no limit */
        options.time_limit_s = fmax(1e-6, options.time_limit_s - (mw_clock_s() - run->start_s));
    options.interrupt = &interrupted;
    MwSolution solution = mw_solve(run->arena, problem, &options);
    mw_solve_progress_end(&progress);
    return solution;
}

/* Returns false after an error. */
static bool write_output(Run *run, const MwProblem *problem, const MwSolution *solution)
{
    MwText json = {.arena = run->arena};
    mw_solve_json(&json, problem, solution);
    if (mw_new_file_fill(&run->output, json.at, json.bytes, 0644))
        return true;
    refuse_output(run, strerror(errno));
    if (solution->choice)
        mw_diag_note(run->diags, mw_span_none(), "the strategies are on standard output instead");
    return false;
}

static void print_answer(const Run *run, const MwProblem *problem, const MwSolution *solution,
                         bool with_strategies)
{
    MwText text = {.arena = run->arena};
    mw_solve_summary(&text, problem, solution, mw_clock_s() - run->start_s);
    if (with_strategies && solution->choice) {
        mw_solve_strategies(&text, problem, solution);
        mw_text_add(&text, "\n");
    }
    fputs(text.at, stdout);
}

static int exit_status(MwSolveStatus status)
{
    static const int statuses[] = {
        [MW_SOLVED_OPTIMAL] = MW_SOLVE_EXIT_ANSWER,
        [MW_SOLVED_FEASIBLE] = MW_SOLVE_EXIT_ANSWER,
        [MW_SOLVED_INFEASIBLE] = MW_SOLVE_EXIT_INFEASIBLE,
        [MW_SOLVED_UNKNOWN] = MW_SOLVE_EXIT_UNKNOWN,
        [MW_SOLVED_RELAXED] = MW_SOLVE_EXIT_RELAXED,
    };
    return statuses[status];
}

/* Returns the exit status, provided that no error is reported. */
static int run_all(Run *run)
{
    if (!open_output(run))
        return MW_SOLVE_EXIT_ERROR;
    const MwProblem *problem = load(run);
    if (!problem && run->options.output)
        mw_new_file_drop(&run->output);
    if (!problem)
        return MW_SOLVE_EXIT_ERROR;
    if (run->options.dump_ilp)
        return mw_problem_save_ilp(problem, run->options.dump_ilp, run->diags)
                   ? MW_SOLVE_EXIT_ANSWER
                   : MW_SOLVE_EXIT_ERROR;
    catch_signals(); /* not earlier: while the problem is read there is no answer to save */
    if (!run->options.quiet)
        show_size(run, problem);
    MwSolution solution = solve(run, problem);
    bool written = run->options.output && write_output(run, problem, &solution);
    signal(SIGPIPE, SIG_DFL);
    print_answer(run, problem, &solution, !written);
    return exit_status(solution.status);
}

int main(int argc, char **argv)
{
    static char name[] = "meshwright-solve";
    static char version[160];
    argv[0] = name; /* argp shows it in messages */
    snprintf(version, sizeof version, "meshwright-solve %s", mw_version);
    argp_program_version = version;
    Run run = {.start_s = mw_clock_s(),
               .options = mw_solve_options_parse(argc, argv),
               .arena = mw_arena_new()};
    run.diags = mw_diags_new(run.arena);
    int status = run_all(&run);
    mw_diags_print(run.diags, stderr);
    if (mw_diags_error_count(run.diags) > 0)
        status = MW_SOLVE_EXIT_ERROR;
    mw_arena_free(&run.arena);
    return mw_output_finish(status);
}
