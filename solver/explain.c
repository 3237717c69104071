/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a problem has no answer: what any choice needs at the fullest time, if that is more than the
 * limit. */
#include "solver/explain.h"

#include "solver/least_peak.h"
#include "solver/solve.h"

const MwInfeasibility *mw_explain(MwArena *arena, const MwProblem *problem,
                                  const MwSolveOptions *options)
{
    MwInfeasibility *why = MW_NEW(arena, MwInfeasibility, 1);
    MwInfeasibleTime *time = MW_NEW(arena, MwInfeasibleTime, 1);
    time->share = 1;
    time->time = mw_fullest_time(problem, &why->needed);
    MwArena *scratch = mw_arena_new();
    MwSolution needed =
        mw_solve_road(scratch, mw_usage_problem(scratch, problem, time->time), options);
    mw_arena_free(&scratch);
    if (needed.status == MW_SOLVED_INFEASIBLE) {
        why->reason = MW_INFEASIBLE_NODES;
        return why;
    }
    if (needed.lower_bound > why->needed)
        why->needed = needed.lower_bound;
    why->available = problem->usage_limit;
    why->reason = why->needed > why->available ? MW_INFEASIBLE_TIME : MW_INFEASIBLE_SEARCH;
    why->times = time;
    why->time_count = 1;
    return why;
}
