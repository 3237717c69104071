/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_solve: the road (solve.c), and where it ends without an answer, the reason, and the least
 * over-budget answer if that is wanted.
 *
 * Relaxation goes by order: first the least peak, then the least cost among the choices of that
 * peak, which is the same problem with that peak as its limit. */
#include "solver/answer/bare.h"
#include "solver/answer/explain.h"
#include "solver/answer/least_peak.h"
#include "solver/road/solve.h"
#include "solver/stop.h"
#include "solver/tuning.h"

#include <math.h>
#include <string.h>

/* The share of the time limit that a reason may take where nothing is left of it: what the user
 * waits for beyond the limit. */
static const double REASON_SHARE = 0.1;

/* Whether even the leanest strategy of each node by itself is too much. */
static bool is_beyond(const MwProblem *problem)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, problem->node_count);
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        int64_t least = mw_bare_least(node);
        for (int s = 0; s < node->strategy_count && node->usage; s++)
            if (node->cost[s] < MW_COST_INFINITE && node->usage[s] == least)
                choice[i] = s;
    }
    int64_t time;
    bool beyond = mw_problem_peak(problem, choice, &time) > problem->usage_limit;
    mw_arena_free(&scratch);
    return beyond;
}

/* As the limit is proven to be too little, at least one more is needed, even where no time alone
 * shows it. */
static void explain(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                    const MwStop *stop, MwSolution *solution)
{
    MwSolveOptions silent = *options;
    mw_stop_hand_on(stop, &silent);
    silent.time_limit_s = fmax(silent.time_limit_s, REASON_SHARE * options->time_limit_s);
    silent.report = NULL;
    silent.gap = 0;
    silent.cutoff = 0;
    const MwInfeasibility *why = mw_explain(arena, problem, &silent);
    solution->infeasibility = why;
    if (why->reason == MW_INFEASIBLE_NODES)
        return;
    MwCost shares = 0;
    for (int i = 0; i < why->time_count; i++)
        shares += why->times[i].share;
    MwCost usage = shares ? (why->needed + shares - 1) / shares : 0;
    if (usage <= problem->usage_limit)
        usage = (MwCost)problem->usage_limit + 1;
    solution->peak_usage = usage < INT64_MAX ? (int64_t)usage : INT64_MAX;
    solution->peak_time = why->time_count ? why->times[0].time : 0;
}

/* Whether it is soon seen that some choice keeps the limit. */
static bool surely_fits(const MwProblem *problem, const MwSolveOptions *options)
{
    MwArena *scratch = mw_arena_new();
    MwSolveOptions quick = *options;
    quick.quick = true;
    MwLeastPeak least = mw_least_peak_for(scratch, problem, problem->usage_limit, false, &quick);
    bool fits = least.choice && least.peak <= problem->usage_limit;
    mw_arena_free(&scratch);
    return fits;
}

/* Leaves time for a relaxation, if one may be needed. */
static MwSolution solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                        const MwStop *stop)
{
    MwSolveOptions timed = *options;
    if (is_beyond(problem))
        return (MwSolution){.status = MW_SOLVED_INFEASIBLE};
    if (options->relax && options->time_limit_s > 0) {
        bool fits = surely_fits(problem, options);
        mw_stop_hand_on(stop, &timed);
        timed.time_limit_s *= fits ? 1 : MW_TUNED_TIME_SHARE;
    }
    return mw_solve_road(arena, problem, &timed, mw_least_peak_for);
}

/* Part of the time for the peak, the rest for the cost at it. */
static void relax(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                  const MwStop *stop, MwSolution *solution)
{
    MwSolveOptions timed = *options;
    mw_stop_hand_on(stop, &timed);
    timed.time_limit_s *= MW_TUNED_TIME_SHARE;
    MwLeastPeak least = mw_least_peak(arena, problem, &timed);
    if (!least.choice)
        return;
    const MwInfeasibility *why = solution->infeasibility;
    MwProblem relaxed = *problem;
    relaxed.usage_limit = least.peak;
    mw_stop_hand_on(stop, &timed);
    *solution = mw_solve_road(arena, &relaxed, &timed, mw_least_peak_for);
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
