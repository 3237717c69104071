/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the intra-op problem of a mesh, and the memory of a device.
 * Out: the best sharding found whose peak, with the copies that resharding makes, is within it.
 *
 * The problem does not see these copies at first: there may be one on every edge, and few matter.
 * Where they are too much, those at times when memory is nearly full are put into it, and it is
 * solved again. A problem with some of the copies asks for less than all of them together do, so that
 * every bound holds. Only where that does not lead to an end, the limit is lowered: by what was too
 * much, and from the second time on by a margin too; but the bound stays that of the whole memory.
 * Each time in half the time, so that all take twice the first. */
#include "passes/sharding/sharding_fit.h"

#include "cost/units.h"
#include "passes/memory_target.h"
#include "passes/sharding/copies.h"
#include "passes/sharding/footprint.h"
#include "passes/tuning.h"

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

/* Watches the copies at the times when the sharding nearly fills the memory; false if none of the times
 * when it needs too much is new. */
static bool watch_more(const MwSharding *sharding, int64_t memory_bytes, bool *watched)
{
    MwIntraProblem *problem = sharding->problem;
    const int64_t *usage = mw_sharding_usage(problem->arena, sharding);
    const double nearly_bytes = (1 - MW_TUNED_WATCH_MARGIN) * (double)memory_bytes;
    bool more = false;
    for (int n = 0; n < problem->graph->nodes.count; n++)
        if (!watched[n] && (double)usage[n] > nearly_bytes) {
            more |= usage[n] > memory_bytes;
            watched[n] = true;
        }
    if (more)
        mw_copies_watch(problem, watched);
    return more;
}

MwShardingFit mw_sharding_fit(MwArena *arena, MwIntraProblem *intra, int64_t memory_bytes,
                              MwSolveOptions options)
{
    MwShardingFit fit = {0};
    MwProblem *problem = &intra->problem;
    MwMemoryTarget target = mw_memory_target(memory_bytes, MW_TUNED_SHARDING_CORRECTIONS);
    bool *watched = MW_NEW(arena, bool, intra->graph->nodes.count), goes_on = true;
    MwCost bound = 0;
    mw_copies_watch(intra, watched);
    for (int watches = MW_TUNED_SHARDING_WATCHES; goes_on; options.time_limit_s /= 2) {
        problem->usage_limit = target.target_bytes;
        fit.solution = mw_solve(arena, problem, &options);
        if (target.target_bytes == memory_bytes)
            bound = mw_max(bound, fit.solution.lower_bound);
        fit.lower_bound_s = mw_seconds(bound);
        if (!fit.solution.choice) {
            goes_on = mw_memory_target_empty(&target);
            continue;
        }
        MwSharding *sharding = sharding_of(arena, intra, &fit.solution);
        sharding->lower_bound_s = fit.lower_bound_s;
        if (sharding->peak_bytes <= memory_bytes) {
            fit.sharding = sharding;
            break;
        }
        fit.needed_bytes = sharding->peak_bytes;
        if (watches > 0 && watch_more(sharding, memory_bytes, watched))
            watches--;
        else
            goes_on = mw_memory_target_exceeded(&target, fit.needed_bytes);
    }
    problem->usage_limit = memory_bytes;
    return fit;
}
