/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the intra-op problem of a mesh, and the memory of a device.
 * Out: the best sharding found whose peak, with the copies that resharding makes, is within it.
 *
 * The problem does not see these copies. Where they are too much it is solved again with less memory:
 * less by what was too much, and from the second time on by a margin too; each time in half the time,
 * so that all take twice the first. The bound stays that of the whole memory. */
#include "passes/sharding_fit.h"

#include "passes/units.h"

enum { TRIES = 5, MARGIN = 100 };

static MwSharding *sharding_of(MwArena *arena, MwIntraProblem *problem, const MwSolution *solution)
{
    MwSharding *sharding = MW_NEW(arena, MwSharding, 1);
    *sharding = (MwSharding){.problem = problem,
                             .choice = solution->choice,
                             .solution = *solution,
                             .objective_s = mw_seconds(solution->cost)};
    sharding->peak_bytes = mw_sharding_peak(sharding);
    return sharding;
}

MwShardingFit mw_sharding_fit(MwArena *arena, MwIntraProblem *problem, int64_t memory_bytes,
                              MwSolveOptions options)
{
    MwShardingFit fit = {0};
    problem->problem.usage_limit = memory_bytes;
    for (int i = 0; i < TRIES; i++, options.time_limit_s /= 2) {
        fit.solution = mw_solve(arena, &problem->problem, &options);
        if (i == 0)
            fit.lower_bound_s = mw_seconds(fit.solution.lower_bound);
        if (!fit.solution.choice)
            return fit;
        MwSharding *sharding = sharding_of(arena, problem, &fit.solution);
        sharding->lower_bound_s = fit.lower_bound_s;
        if (sharding->peak_bytes <= memory_bytes) {
            fit.sharding = sharding;
            return fit;
        }
        fit.needed_bytes = sharding->peak_bytes;
        int64_t excess = fit.needed_bytes - memory_bytes;
        if (i > 0)
            excess += problem->problem.usage_limit / MARGIN;
        if (excess >= problem->problem.usage_limit)
            return fit;
        problem->problem.usage_limit -= excess;
    }
    return fit;
}
