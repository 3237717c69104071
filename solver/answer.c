/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_solve: the road (solve.c), and where it ends without an answer, the reason. */
#include "solver/explain.h"
#include "solver/solve.h"

/* As the limit is proven to be too little, at least one more is needed, even where no time alone
 * shows it. */
static void explain(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                    MwSolution *solution)
{
    MwSolveOptions silent = *options;
    silent.report = NULL;
    const MwInfeasibility *why = mw_explain(arena, problem, &silent);
    solution->infeasibility = why;
    if (why->reason == MW_INFEASIBLE_NODES)
        return;
    MwCost shares = 0;
    for (int i = 0; i < why->time_count; i++)
        shares += why->times[i].share;
    MwCost usage = (why->needed + shares - 1) / shares;
    if (usage <= problem->usage_limit)
        usage = (MwCost)problem->usage_limit + 1;
    solution->peak_usage = usage < INT64_MAX ? (int64_t)usage : INT64_MAX;
    solution->peak_time = why->times[0].time;
}

MwSolution mw_solve(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options)
{
    static const MwSolveOptions none = {0};
    if (!options)
        options = &none;
    MwSolution solution = mw_solve_road(arena, problem, options);
    if (solution.status == MW_SOLVED_INFEASIBLE)
        explain(arena, problem, options, &solution);
    return solution;
}
