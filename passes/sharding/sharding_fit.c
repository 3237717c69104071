/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the intra-operator problem of a mesh, and the memory of a device.
 * Out: the best sharding found whose peak, with the copies that resharding makes, is within the
 *      memory.
 *
 * The problem has no nodes for these copies at first: every edge may have one, and few matter.
 * Where the copies exceed the memory, nodes for the copies at times when memory is nearly full
 * are added, and the problem is solved again. A problem with some of the copies is a relaxation
 * of that with all of them, so every lower bound holds. If no time is left to add, the memory
 * target is lowered (passes/memory_target.h), while the lower bound remains that of the whole
 * memory. Each solve has half the time limit of the one before, so that all together take at
 * most twice the first. The time is counted work (solver/stop.h), so that the same input gives the
 * same plan on every machine, however busy. */
#include "passes/sharding/sharding_fit.h"

#include "cost/units.h"
#include "passes/memory_target.h"
#include "passes/sharding/copies.h"
#include "passes/sharding/footprint.h"

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

/* Adds nodes for the copies at the times when the sharding nearly fills the memory. False if all
 * times that exceed the memory are modelled already. */
static bool add_copies(const MwSharding *sharding, int64_t memory_bytes, bool *modelled)
{
    MwIntraProblem *problem = sharding->problem;
    const int64_t *usage = mw_sharding_usage(problem->arena, sharding);
    const double nearly_bytes = (1 - MW_TUNED_MEMORY_MARGIN) * (double)memory_bytes;
    bool more = false;
    for (int n = 0; n < problem->graph->nodes.count; n++)
        if (!modelled[n] && (double)usage[n] > nearly_bytes) {
            more |= usage[n] > memory_bytes;
            modelled[n] = true;
        }
    if (more)
        mw_intra_problem_add_copies(problem, modelled);
    return more;
}

MwShardingFit mw_sharding_fit(MwArena *arena, MwIntraProblem *intra, int64_t memory_bytes,
                              MwSolveOptions options)
{
    MwShardingFit fit = {0};
    MwProblem *problem = &intra->problem;
    MwMemoryTarget target = mw_memory_target(memory_bytes, MW_TUNED_MEMORY_CORRECTIONS);
    bool *modelled = MW_NEW(arena, bool, intra->graph->nodes.count), unfinished = true;
    MwSolveWork work = {0};
    MwCost bound = 0;
    options.work = options.time_limit_s > 0 ? &work : NULL;
    mw_intra_problem_add_copies(intra, modelled);
    for (int copy_rounds = MW_TUNED_MEMORY_CORRECTIONS; unfinished; options.time_limit_s /= 2) {
        problem->usage_limit = target.target_bytes;
        fit.solution = mw_solve(arena, problem, &options);
        if (target.target_bytes == memory_bytes)
            bound = mw_max(bound, fit.solution.lower_bound);
        fit.lower_bound_s = mw_seconds(bound);
        if (!fit.solution.choice) {
            unfinished = mw_memory_target_empty(&target);
            continue;
        }
        MwSharding *sharding = sharding_of(arena, intra, &fit.solution);
        sharding->lower_bound_s = fit.lower_bound_s;
        if (sharding->peak_bytes <= memory_bytes) {
            fit.sharding = sharding;
            break;
        }
        fit.needed_bytes = sharding->peak_bytes;
        if (copy_rounds > 0 && add_copies(sharding, memory_bytes, modelled))
            copy_rounds--;
        else
            unfinished = mw_memory_target_exceeded(&target, fit.needed_bytes);
    }
    problem->usage_limit = memory_bytes;
    return fit;
}
