/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_solve: the road (solve.c), and where it ends without an answer, the reason, and the least
 * over-budget answer if that is wanted.
 *
 * Relaxation goes by order: first the least peak, then the least cost among the choices of that
 * peak, which is the same problem with that peak as its limit. */
#include "solver/bare.h"
#include "solver/explain.h"
#include "solver/least_peak.h"
#include "solver/solve.h"
#include "solver/stop.h"

#include <math.h>
#include <string.h>

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
                    MwSolution *solution)
{
    MwSolveOptions silent = *options;
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

/* Part of the time for the peak, the rest for the cost at it. */
static void relax(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                  const MwStop *stop, MwSolution *solution)
{
    MwSolveOptions timed = *options;
    if (stop->deadline_s > 0)
        timed.time_limit_s = fmax(1e-3, mw_stop_left_s(stop) / 2);
    MwLeastPeak least = mw_least_peak(arena, problem, &timed);
    if (!least.choice)
        return;
    const MwInfeasibility *why = solution->infeasibility;
    MwProblem relaxed = *problem;
    relaxed.usage_limit = least.peak;
    if (stop->deadline_s > 0)
        timed.time_limit_s = fmax(1e-3, mw_stop_left_s(stop));
    *solution = mw_solve_road(arena, &relaxed, &timed, true);
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
    MwStop stop = {.interrupt = options->interrupt};
    double start_s = mw_clock_s();
    if (options->time_limit_s > 0)
        stop.deadline_s = start_s + options->time_limit_s;
    MwSolution solution = {.status = MW_SOLVED_INFEASIBLE};
    if (!is_beyond(problem))
        solution = mw_solve_road(arena, problem, options, true);
    if (solution.status == MW_SOLVED_INFEASIBLE)
        explain(arena, problem, options, &solution);
    bool possible =
        !solution.infeasibility || solution.infeasibility->reason != MW_INFEASIBLE_NODES;
    if (options->relax && !solution.choice && possible)
        relax(arena, problem, options, &stop, &solution);
    solution.time_s = mw_clock_s() - start_s;
    return solution;
}
