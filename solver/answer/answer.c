/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_solve: solves the problem (mw_solve_plain), explains why it has no answer if that is proven,
 * and on request finds the answer that exceeds the limit least.
 *
 * The relaxation is lexicographic: first the least peak, then the least cost among the choices with
 * that peak. The second step is the same problem with that peak as its limit. */
#include "base/threads.h"
#include "solver/answer/explain.h"
#include "solver/answer/hard_constraints.h"
#include "solver/answer/least_peak.h"
#include "solver/driver/solve.h"
#include "solver/stop.h"
#include "solver/tuning.h"

#include <glpk.h>
#include <math.h>
#include <string.h>

/* Fraction of the time limit that finding the reason may take even if no time is left: what the
 * user waits for beyond the limit. */
static const double REASON_SHARE = 0.1;

/* Says whether the peak exceeds the limit even if each node takes a strategy of least usage. */
static bool exceeds_limit_at_least(const MwProblem *problem)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, problem->node_count);
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        int64_t least = mw_hard_least_usage(node);
        for (int s = 0; s < node->strategy_count && node->usage; s++)
            if (node->cost[s] < MW_COST_INFINITE && node->usage[s] == least)
                choice[i] = s;
    }
    int64_t time;
    bool beyond = mw_problem_peak(problem, choice, &time) > problem->usage_limit;
    mw_arena_free(&scratch);
    return beyond;
}

/* Finds the reason. The limit is proven to be too low, so the peak of every choice is at least the
 * limit plus one, even where no single time shows it. */
static void explain(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                    const MwStop *stop, MwSolution *solution)
{
    MwSolveOptions silent = *options;
    mw_stop_pass_on(stop, &silent);
    silent.time_limit_s = fmax(silent.time_limit_s, REASON_SHARE * options->time_limit_s);
    silent.report = NULL;
    silent.gap = 0;
    silent.cutoff = 0;
    const MwInfeasibility *why = mw_explain(arena, problem, &silent);
    solution->infeasibility = why;
    if (why->reason == MW_INFEASIBLE_NODES)
        return;
    MwCost weights = 0;
    for (int i = 0; i < why->time_count; i++)
        weights += why->times[i].weight;
    MwCost usage = weights ? (why->needed + weights - 1) / weights : 0;
    if (usage <= problem->usage_limit)
        usage = (MwCost)problem->usage_limit + 1;
    solution->peak_usage = usage < INT64_MAX ? (int64_t)usage : INT64_MAX;
    solution->peak_time = why->time_count ? why->times[0].time : 0;
}

/* Says whether a quick search finds a choice that keeps the limit. */
static bool fits_quickly(const MwProblem *problem, const MwSolveOptions *options)
{
    MwArena *scratch = mw_arena_new();
    MwSolveOptions quick = *options;
    quick.quick = true;
    MwLeastPeak least = mw_least_peak_for(scratch, problem, problem->usage_limit, false, &quick);
    bool fits = least.choice && least.peak <= problem->usage_limit;
    mw_arena_free(&scratch);
    return fits;
}

/* Solves the problem; reserves half of the time for a relaxation if one may be needed. */
static MwSolution solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                        const MwStop *stop)
{
    MwSolveOptions timed = *options;
    if (exceeds_limit_at_least(problem))
        return (MwSolution){.status = MW_SOLVED_INFEASIBLE};
    if (options->relax && options->time_limit_s > 0) {
        bool fits = fits_quickly(problem, options);
        mw_stop_pass_on(stop, &timed);
        timed.time_limit_s *= fits ? 1 : MW_TUNED_TIME_SHARE;
    }
    return mw_solve_plain(arena, problem, &timed, mw_least_peak_for);
}

/* Spends half of the time on the least peak, the rest on the least cost at that peak. */
static void relax(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                  const MwStop *stop, MwSolution *solution)
{
    MwSolveOptions timed = *options;
    mw_stop_pass_on(stop, &timed);
    timed.time_limit_s *= MW_TUNED_TIME_SHARE;
    MwLeastPeak least = mw_least_peak(arena, problem, &timed);
    if (!least.choice)
        return;
    const MwInfeasibility *why = solution->infeasibility;
    MwProblem relaxed = *problem;
    relaxed.usage_limit = least.peak;
    mw_stop_pass_on(stop, &timed);
    *solution = mw_solve_plain(arena, &relaxed, &timed, mw_least_peak_for);
    MwCost cost = mw_problem_cost(problem, least.choice);
    if (!solution->choice || solution->cost > cost) {
        solution->choice = least.choice;
        solution->cost = cost;
        solution->peak_usage = least.peak;
        solution->peak_time = least.time;
    }
    solution->status = MW_SOLVED_RELAXED;
    solution->relaxed_limit = least.peak;
    solution->least_peak = least.lower_bound;
    solution->infeasibility = why;
}

int mw_solve_threads(void)
{
    return glp_config("TLS") ? mw_parallel_threads() : 1;
}

MwSolution mw_solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options)
{
    static const MwSolveOptions none = {0};
    if (!options)
        options = &none;
    const MwStop stop = mw_stop_of(options);
    double start_s = mw_clock_s();
    MwSolution solution = solve(arena, problem, options, &stop);
    if (solution.status == MW_SOLVED_INFEASIBLE)
        explain(arena, problem, options, &stop, &solution);
    bool possible =
        !solution.infeasibility || solution.infeasibility->reason != MW_INFEASIBLE_NODES;
    if (options->relax && !solution.choice && possible)
        relax(arena, problem, options, &stop, &solution);
    solution.time_s = mw_clock_s() - start_s;
    return solution;
}
