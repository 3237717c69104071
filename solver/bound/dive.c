/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A choice by diving.
 *
 * A copy of the core is bounded. The nodes whose best strategy has the greatest lead over the
 * second best are fixed to it. The copy is reduced, which propagates the consequences, and bounded
 * again, until nothing is left. What is fixed early is certain by potentials and prices; what is
 * fixed late takes the remaining slack of the rows into account. (Diving with a Lagrangian
 * relaxation: Wedelin, An algorithm for large scale 0-1 integer programming, Annals of Operations
 * Research 57, 1995.) */
#include "solver/bound/dive.h"

#include "solver/bound/ascent.h"
#include "solver/reduce/reduce.h"
#include "solver/tuning.h"

#include <stdlib.h>

typedef struct {
    int node, strategy;
    double lead;
} Candidate;

/* Orders by falling lead. */
static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->lead != y->lead)
        return x->lead > y->lead ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool fits(const MwCore *core, const __int128 *slack, int node, int strategy)
{
    for (int i = 0; i < core->nodes[node].terms.count; i++) {
        const MwCoreTerm *term = &core->nodes[node].terms.at[i];
        for (int row = term->first; row <= term->last; row++)
            if (slack[row] < term->usage->at[strategy])
                return false;
    }
    return true;
}

static void fix(MwCore *core, __int128 *slack, int node, int strategy)
{
    for (int i = 0; i < core->nodes[node].terms.count; i++) {
        const MwCoreTerm *term = &core->nodes[node].terms.at[i];
        for (int row = term->first; row <= term->last; row++)
            slack[row] -= term->usage->at[strategy];
    }
    int64_t keep = strategy;
    mw_core_restrict(core, node, mw_table_intern(core->tables, 1, (int[]){1}, &keep));
}

/* Forbids a strategy for which the rows have no slack. */
static void forbid_strategy(MwCore *core, int node, int strategy)
{
    int64_t *cost = mw_tables_scratch(core->tables, mw_core_strategies(core, node));
    int count = mw_core_strategies(core, node);
    for (int s = 0; s < count; s++)
        cost[s] = s == strategy ? MW_FORBIDDEN : 0;
    mw_core_add_cost(core, node, mw_table_intern(core->tables, 1, &count, cost));
}

/* Fixes the nodes of greatest lead, as far as the rows have slack for all of them together. */
static void fix_some(MwArena *scratch, MwCore *core, const MwDual *dual)
{
    Candidate *candidates = MW_NEW(scratch, Candidate, dual->node_count);
    for (int i = 0; i < dual->node_count; i++)
        candidates[i] = (Candidate){dual->nodes[i].node, dual->nodes[i].best, dual->nodes[i].lead};
    qsort(candidates, (size_t)dual->node_count, sizeof *candidates, compare_candidates);
    __int128 *slack =
        mw_arena_dup(scratch, core->limit, sizeof *core->limit * (size_t)core->row_count);
    int fixed = 0;
    for (int i = 0; i < dual->node_count && fixed <= dual->node_count / MW_TUNED_DIVE_PARTS; i++) {
        const Candidate *next = &candidates[i];
        if (fits(core, slack, next->node, next->strategy))
            fix(core, slack, next->node, next->strategy);
        else
            forbid_strategy(core, next->node, next->strategy);
        fixed++;
    }
}

static bool finished(const MwCore *core)
{
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            return false;
    return true;
}

bool mw_dive(const MwCore *core, const MwStop *stop, int *choice)
{
    MwArena *arena = mw_arena_new();
    MwCore *copy = mw_core_copy(arena, core);
    const MwReduceLimits shrinking = mw_reduce_shrinking(*stop);
    double step_scale = 1;
    while (!copy->infeasible && !finished(copy) && !mw_stopped(stop)) {
        MwArena *scratch = mw_arena_new();
        MwIncumbent incumbent = {.cost = MW_ABOVE_ANY_COST};
        const MwAscentLimits limits = {.iterations = MW_TUNED_SPLIT_ITERATIONS, .stop = *stop};
        const MwDual *dual =
            mw_ascend(scratch, copy, copy->price, &step_scale, &incumbent, &limits);
        fix_some(scratch, copy, dual);
        mw_arena_free(&scratch);
        mw_reduce(copy, &shrinking);
    }
    bool found = !copy->infeasible && finished(copy);
    for (int i = 0; i < core->node_count && found; i++)
        choice[i] = 0;
    if (found)
        mw_core_restore_to(copy, core, choice);
    mw_arena_free(&arena);
    return found;
}
