/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choosing a split.
 *
 * What keeps a bound from the least cost is nodes of which several strategies look as good as the
 * best, at prices of memory that make thrift and thrift's price equal. So nodes are ranked by how
 * far the priced usages of their good strategies lie apart, and divided where these fall into two
 * groups best (least variance within: Otsu, A threshold selection method from gray-level
 * histograms, 1979); and, as usage is not all, by how many strategies besides the best are good,
 * and divided into the best one and the rest. Of the foremost by either, both halves are bounded
 * for a few iterations, and the split that raises the bounds most is taken (strong branching:
 * Achterberg, Koch and Martin, Branching rules revisited, Operations Research Letters 33, 2005). */
#include "solver/tree/split.h"

#include "solver/bound/ascent.h"
#include "solver/bound/certify.h"
#include "solver/bound/sweep.h"
#include "solver/reduce/reduce.h"
#include "solver/tuning.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    int node; /* index in the dual */
    bool by_usage;
    double score;
    int count; /* how many strategies of the order below come first */
    const int *order;
} Candidate;

typedef struct {
    MwArena *arena;
    const MwCore *core;
    const MwDual *dual;
    double gap;
    Candidate *candidates; /* [2 * dual nodes] */
    int count;
} Chooser;

typedef struct {
    double key;
    int strategy;
} Ordered;

static int compare_ordered(const void *a, const void *b)
{
    const Ordered *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->strategy > y->strategy) - (x->strategy < y->strategy);
}

static const int *order_by(MwArena *arena, const double *key, int count)
{
    MwArena *scratch = mw_arena_new();
    Ordered *ordered = MW_NEW(scratch, Ordered, count);
    int *order = MW_NEW(arena, int, count);
    for (int s = 0; s < count; s++)
        ordered[s] = (Ordered){key[s], s};
    qsort(ordered, (size_t)count, sizeof *ordered, compare_ordered);
    for (int s = 0; s < count; s++)
        order[s] = ordered[s].strategy;
    mw_arena_free(&scratch);
    return order;
}

/* Where the weighted keys, in order, fall into two groups best; the weighted variance between these
 * groups. */
static double divide(const double *key, const double *weight, const int *order, int count,
                     int *first)
{
    double total = 0, sum = 0, below = 0, below_sum = 0, best = 0;
    for (int i = 0; i < count; i++) {
        total += weight[order[i]];
        sum += weight[order[i]] * key[order[i]];
    }
    *first = 1;
    for (int i = 0; i + 1 < count; i++) {
        below += weight[order[i]];
        below_sum += weight[order[i]] * key[order[i]];
        double above = total - below;
        if (key[order[i]] == key[order[i + 1]] || below <= 0 || above <= 0)
            continue;
        double apart = below_sum / below - (sum - below_sum) / above;
        double between = below * above * apart * apart;
        if (between > best) {
            best = between;
            *first = i + 1;
        }
    }
    return best;
}

static void rank_node(Chooser *chooser, int index)
{
    const MwDualNode *node = &chooser->dual->nodes[index];
    int count = node->strategies;
    if (count < 2)
        return;
    double *above = MW_NEW(chooser->arena, double, count);
    double *priced = MW_NEW(chooser->arena, double, count);
    double *weight = MW_NEW(chooser->arena, double, count), others = -1;
    mw_dual_surplus(chooser->dual, index, above);
    mw_dual_priced_usage(chooser->dual, index, priced);
    for (int s = 0; s < count; s++) {
        weight[s] = fmax(0, 1 - above[s] / chooser->gap);
        weight[s] *= weight[s];
        others += weight[s];
    }
    Candidate *best = &chooser->candidates[chooser->count++];
    *best = (Candidate){index, false, others, 1, order_by(chooser->arena, above, count)};
    Candidate usage = {index, true, 0, 0, order_by(chooser->arena, priced, count)};
    usage.score = divide(priced, weight, usage.order, count, &usage.count);
    if (usage.score > 0)
        chooser->candidates[chooser->count++] = usage;
}

/* By ranking, the foremost first. */
static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->by_usage != y->by_usage)
        return x->by_usage ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The strategies at these places of the order, ascending. */
static const MwTable *ascending(MwTables *tables, const int *order, int count)
{
    int64_t *keep = mw_tables_scratch(tables, count);
    for (int i = 0; i < count; i++) {
        int at = i;
        for (; at > 0 && keep[at - 1] > order[i]; at--)
            keep[at] = keep[at - 1];
        keep[at] = order[i];
    }
    return mw_table_intern(tables, 1, &count, keep);
}

static MwCost bound_half(const MwCore *core, int node, const MwTable *keep, MwCost cutoff,
                         const MwStop *stop)
{
    MwReduceLimits limits = mw_reduce_shrinking(*stop);
    limits.quick = true;
    MwArena *scratch = mw_arena_new();
    MwCore *copy = mw_core_copy(scratch, core);
    double pace = 1;
    mw_core_restrict(copy, node, keep);
    mw_reduce(copy, &limits);
    MwCost bound = cutoff;
    if (!copy->infeasible) {
        MwCoreBest best = {.cost = cutoff};
        const MwAscentLimits ascent = {
            .iterations = MW_TUNED_SPLIT_ITERATIONS, .bound_only = true, .stop = *stop};
        bound = mw_dual_certify(mw_ascend(scratch, copy, copy->price, &pace, &best, &ascent));
    }
    mw_arena_free(&scratch);
    return bound < cutoff ? bound : cutoff;
}

static MwSplit try_split(const Chooser *chooser, const Candidate *candidate, MwCost cutoff,
                         const MwStop *stop)
{
    const MwCore *core = chooser->core;
    const MwDualNode *node = &chooser->dual->nodes[candidate->node];
    int rest = node->strategies - candidate->count;
    MwSplit split = {.node = node->node};
    split.half[0] = ascending(core->tables, candidate->order, candidate->count);
    split.half[1] = ascending(core->tables, candidate->order + candidate->count, rest);
    for (int i = 0; i < 2; i++)
        split.bound[i] = bound_half(core, node->node, split.half[i], cutoff, stop);
    return split;
}

/* Of the rises of both halves, as far as they count. */
static double promise(const Chooser *chooser, const MwSplit *split, double from)
{
    double product = 1;
    for (int i = 0; i < 2; i++) {
        double rise = ((double)split->bound[i] - from) / chooser->gap;
        product *= fmax(MW_VISIBLE_RISE, fmin(rise, 1));
    }
    return product;
}

MwSplit mw_split_choose(const MwCore *core, MwCost cutoff, const MwStop *stop)
{
    MwArena *scratch = mw_arena_new();
    MwDual *dual = mw_dual_new(scratch, core, core->price);
    mw_dual_sweep(dual, true);
    mw_dual_sweep(dual, false);
    double bound = mw_dual_bound(dual);
    Chooser chooser = {.arena = scratch, .core = core, .dual = dual};
    chooser.gap = cutoff < MW_CORE_NONE ? fmax(1, (double)cutoff - bound) : mw_dual_step_gap(bound);
    chooser.candidates = MW_NEW(scratch, Candidate, 2 * dual->node_count);
    for (int i = 0; i < dual->node_count; i++)
        rank_node(&chooser, i);
    qsort(chooser.candidates, (size_t)chooser.count, sizeof *chooser.candidates,
          compare_candidates);
    MwSplit best = {.node = -1};
    double most = -1;
    for (int i = 0, tried[2] = {0}; i < chooser.count; i++) {
        const Candidate *next = &chooser.candidates[i];
        if (tried[next->by_usage]++ >= MW_TUNED_SPLIT_TRIED || (most >= 0 && mw_stopped(stop)))
            continue;
        MwSplit split = try_split(&chooser, next, cutoff, stop);
        double promised = promise(&chooser, &split, bound);
        if (promised > most) {
            best = split;
            most = promised;
        }
    }
    mw_arena_free(&scratch);
    return best;
}
