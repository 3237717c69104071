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
 * memory. In a large graph, where nodes for copies make a problem that is much harder to solve, the
 * target is lowered first, up to LOWERINGS times. Each solve has half the time limit of the one
 * before, so that all together take at most twice the first. The time is counted work
 * (solver/stop.h), so that the same input gives the same plan on every machine, however busy. */
#include "passes/sharding/sharding_fit.h"

#include "cost/units.h"
#include "passes/memory_target.h"
#include "passes/sharding/copies.h"
#include "passes/sharding/footprint.h"

/* How often the target is lowered before copies have nodes. */
enum { LOWERINGS = 2 };

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

/* One call. */
typedef struct {
    MwArena *arena;
    MwIntraProblem *intra;
    int64_t memory_bytes;
    MwSolveOptions options; /* of the next solve */
    MwCost bound;           /* of the cost within the whole memory */
    MwShardingFit fit;
} Fit;

/* Solves within `target_bytes`. Sets the sharding of the answer if the solution fits; NULL if there
 * is no solution. */
static const MwSharding *solve_within(Fit *f, int64_t target_bytes)
{
    f->intra->problem.usage_limit = target_bytes;
    f->fit.solution = mw_solve(f->arena, &f->intra->problem, &f->options);
    f->options.time_limit_s /= 2;
    if (target_bytes == f->memory_bytes)
        f->bound = mw_max(f->bound, f->fit.solution.lower_bound);
    f->fit.lower_bound_s = mw_seconds(f->bound);
    if (!f->fit.solution.choice)
        return NULL;
    MwSharding *sharding = sharding_of(f->arena, f->intra, &f->fit.solution);
    sharding->lower_bound_s = f->fit.lower_bound_s;
    if (sharding->peak_bytes <= f->memory_bytes)
        f->fit.sharding = sharding;
    else
        f->fit.needed_bytes = sharding->peak_bytes;
    return sharding;
}

/* Sets the target after a solution that needs too much with the copies that it had no nodes for. */
static bool exceeds(MwMemoryTarget *target, const MwSharding *sharding)
{
    return mw_memory_target_exceeded(target, sharding->peak_bytes, sharding->solution.peak_usage);
}

/* Solves the problem without nodes for copies, for less memory while the solution does not fit.
 * Returns the solution within the whole memory. */
static const MwSharding *solve_lowered(Fit *f)
{
    MwMemoryTarget target = mw_memory_target(f->memory_bytes, LOWERINGS);
    const MwSharding *first = solve_within(f, f->memory_bytes), *last = first;
    while (last && !f->fit.sharding && exceeds(&target, last))
        last = solve_within(f, target.target_bytes);
    return first;
}

/* Solves with nodes for copies, of more and more of them, and then for less memory. `last`: a
 * solution that does not fit; NULL: there is none yet. */
static void solve_with_copies(Fit *f, const MwSharding *last)
{
    bool *modelled = MW_NEW(f->arena, bool, f->intra->graph->nodes.count), unfinished = true;
    MwMemoryTarget target = mw_memory_target(f->memory_bytes, MW_TUNED_MEMORY_CORRECTIONS);
    int copy_rounds = MW_TUNED_MEMORY_CORRECTIONS;
    if (!last)
        last = solve_within(f, target.target_bytes);
    while (!f->fit.sharding) {
        if (!last)
            unfinished = mw_memory_target_empty(&target);
        else if (copy_rounds > 0 && add_copies(last, f->memory_bytes, modelled))
            copy_rounds--;
        else
            unfinished = exceeds(&target, last);
        if (!unfinished)
            return;
        last = solve_within(f, target.target_bytes);
    }
}

MwShardingFit mw_sharding_fit(MwArena *arena, MwIntraProblem *intra, int64_t memory_bytes,
                              MwSolveOptions options)
{
    Fit f = {.arena = arena, .intra = intra, .memory_bytes = memory_bytes, .options = options};
    MwSolveWork work = {0};
    const bool is_large = intra->graph->nodes.count > MW_TUNED_LARGE_NODES;
    f.options.work = &work;
    mw_intra_problem_add_copies(intra, MW_NEW(arena, bool, intra->graph->nodes.count));
    const MwSharding *first = is_large ? solve_lowered(&f) : NULL;
    if (!f.fit.sharding && (first || !is_large))
        solve_with_copies(&f, first);
    intra->problem.usage_limit = memory_bytes;
    f.fit.entries = work.entries;
    return f.fit;
}
