/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds a node of the tree.
 *
 * The core of the parent is copied and restricted. The copy is reduced, its bound is raised, and
 * strategies that cannot cost less than the cutoff are fixed; this is repeated as long as the core
 * shrinks or the bound rises visibly. Each round moves the potentials into the costs, so the next
 * ascent, and those of the children, start where the last one ended. */
#include "solver/tree/subproblem.h"

#include "solver/bound/certify.h"
#include "solver/reduce/reduce.h"
#include "solver/tuning.h"

typedef struct {
    const MwSubproblem *of;
    MwArena *arena;
    MwCore *core;
    MwSubproblemAnswer answer;
    double step_scale;
} Work;

static void reduce(Work *work)
{
    MwReduceLimits limits = mw_reduce_shrinking(work->of->stop);
    limits.quick = true;
    mw_reduce(work->core, &limits);
}

static MwCost cutoff(const Work *work)
{
    if (work->answer.best.choice)
        return mw_core_improving_cutoff(work->of->root, work->answer.best.cost);
    return work->of->cutoff;
}

/* Makes a choice of the core, or of a copy of it, the incumbent if it is better. */
static void update_incumbent(Work *work, const MwCore *core, const int *choice)
{
    const MwCore *root = work->of->root;
    int *restored = mw_arena_dup(work->arena, choice, sizeof *choice * (size_t)root->node_count);
    mw_core_restore(core, restored);
    MwCost cost = mw_core_cost(root, restored);
    if (cost < cutoff(work) && mw_core_allows(root, restored) && mw_core_fits(root, restored))
        work->answer.best = (MwIncumbent){cost, restored};
}

/* Returns the work of one visit of all tables. */
static int64_t size(const MwCore *core)
{
    return mw_core_entries_left(core) + mw_core_strategies_left(core);
}

/* Says whether at most one choice is left, and records it. */
static bool finished(Work *work, const MwCore *core)
{
    if (core->infeasible)
        return true;
    if (mw_core_nodes_left(core) > 0)
        return false;
    update_incumbent(work, core, MW_NEW(work->arena, int, core->node_count));
    return true;
}

/* Tries to eliminate all nodes, if there are no rows and the tables stay small. */
static bool eliminate_all(Work *work)
{
    if (work->core->row_count > 0)
        return false;
    const MwReduceLimits limits = {.arity = MW_TABLE_ARITY,
                                   .entries = MW_SEARCH_ENTRIES,
                                   .total = MW_SEARCH_ENTRIES,
                                   .stop = work->of->stop};
    MwCore *copy = mw_core_copy(work->arena, work->core);
    mw_reduce(copy, &limits);
    return finished(work, copy);
}

/* Raises the bound, fixes and reduces once. Returns the bound. */
static MwCost tighten(Work *work)
{
    MwArena *scratch = mw_arena_new();
    MwCore *core = work->core;
    MwIncumbent found = {.cost = cutoff(work)};
    const MwAscentLimits limits = {.iterations = MW_TUNED_ITERATIONS, .stop = work->of->stop};
    MwDual *dual = mw_ascend(scratch, core, core->price, &work->step_scale, &found, &limits);
    work->answer.work += limits.iterations * size(core);
    if (found.choice)
        update_incumbent(work, core, found.choice);
    MwCost bound = mw_dual_apply(dual, core, cutoff(work));
    if (bound < cutoff(work))
        reduce(work);
    mw_arena_free(&scratch);
    return bound;
}

/* Returns true if nothing is left. */
static bool tighten_all(Work *work)
{
    double rise = 1, gap = 0;
    int64_t before = INT64_MAX, left = mw_core_strategies_left(work->core);
    while ((mw_reduce_goes_on(before, left) || rise > MW_TUNED_ROUND_SHARE * gap) &&
           !mw_stopped(&work->of->stop)) {
        before = left;
        MwCost bound = tighten(work);
        rise = (double)(bound - work->answer.bound);
        if (bound > work->answer.bound)
            work->answer.bound = bound;
        if (bound >= cutoff(work) || finished(work, work->core) || eliminate_all(work))
            return true;
        gap = (double)(cutoff(work) - bound);
        left = mw_core_strategies_left(work->core);
    }
    return false;
}

static void restrict_to(MwCore *core, int node, const MwTable *keep)
{
    mw_core_restrict(core, node, mw_table_intern(core->tables, 1, keep->dims, keep->at));
}

MwSubproblemAnswer mw_subproblem_solve(MwArena *arena, const MwSubproblem *subproblem)
{
    Work work = {.of = subproblem, .arena = arena, .step_scale = 1};
    work.answer.best.cost = MW_ABOVE_ANY_COST;
    work.answer.bound = -MW_ABOVE_ANY_COST;
    work.core = mw_core_copy_independent(arena, subproblem->from);
    if (subproblem->node >= 0)
        restrict_to(work.core, subproblem->node, subproblem->keep);
    reduce(&work);
    if (finished(&work, work.core) || eliminate_all(&work) || tighten_all(&work)) {
        work.answer.bound = cutoff(&work);
        return work.answer;
    }
    work.answer.core = work.core;
    work.answer.split.node = -1;
    if (size(work.core) <= MW_SEARCH_ENTRIES && !mw_stopped(&subproblem->stop)) {
        work.answer.split = mw_split_choose(work.core, cutoff(&work), &subproblem->stop);
        work.answer.work += MW_SPLIT_VISITS * size(work.core);
        mw_stop_count(&subproblem->stop, MW_SPLIT_VISITS * size(work.core));
    }
    return work.answer;
}
