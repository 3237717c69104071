/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strong branching.
 *
 * The bound stays below the least cost because several strategies of a node look equally good: at
 * the current prices, a strategy of low usage and higher cost ties with one of high usage and lower
 * cost. The first ranking therefore orders nodes by the spread of the priced usage of their good
 * strategies, and splits them where usage falls into two groups best (least variance within groups:
 * Otsu, A threshold selection method from gray-level histograms, 1979). Usage is not the only
 * reason, so the second ranking orders nodes by how many strategies besides the best are good, and
 * splits off the best one. The first candidates of each ranking are tried: both children are
 * bounded for a few iterations, and the branching that raises the bounds most is taken (strong
 * branching: Achterberg, Koch and Martin, Branching rules revisited, Operations Research Letters
 * 33, 2005). */
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
    int count; /* number of strategies of `order` in the first set */
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

/* Splits the weighted keys, in order, into the two groups of greatest variance between groups.
 * Returns that variance; `first` gets the size of the first group. */
static double split_in_two(const double *key, const double *weight, const int *order, int count,
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
        double reduced_cost = total - below;
        if (key[order[i]] == key[order[i + 1]] || below <= 0 || reduced_cost <= 0)
            continue;
        double apart = below_sum / below - (sum - below_sum) / reduced_cost;
        double between = below * reduced_cost * apart * apart;
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
    double *reduced_cost = MW_NEW(chooser->arena, double, count);
    double *priced = MW_NEW(chooser->arena, double, count);
    double *weight = MW_NEW(chooser->arena, double, count), others = -1;
    mw_dual_reduced_costs(chooser->dual, index, reduced_cost);
    mw_dual_priced_usage(chooser->dual, index, priced);
    for (int s = 0; s < count; s++) {
        weight[s] = fmax(0, 1 - reduced_cost[s] / chooser->gap);
        weight[s] *= weight[s];
        others += weight[s];
    }
    Candidate *best = &chooser->candidates[chooser->count++];
    *best = (Candidate){index, false, others, 1, order_by(chooser->arena, reduced_cost, count)};
    Candidate usage = {index, true, 0, 0, order_by(chooser->arena, priced, count)};
    usage.score = split_in_two(priced, weight, usage.order, count, &usage.count);
    if (usage.score > 0)
        chooser->candidates[chooser->count++] = usage;
}

/* Orders by ranking, then by falling score. */
static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->by_usage != y->by_usage)
        return x->by_usage ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Returns these strategies, ascending. */
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

static MwCost bound_child(const MwCore *core, int node, const MwTable *keep, MwCost cutoff,
                          const MwStop *stop)
{
    MwReduceLimits limits = mw_reduce_shrinking(*stop);
    limits.quick = true;
    MwArena *scratch = mw_arena_new();
    MwCore *copy = mw_core_copy(scratch, core);
    double step_scale = 1;
    mw_core_restrict(copy, node, keep);
    mw_reduce(copy, &limits);
    MwCost bound = cutoff;
    if (!copy->infeasible) {
        MwIncumbent best = {.cost = cutoff};
        const MwAscentLimits ascent = {
            .iterations = MW_TUNED_SPLIT_ITERATIONS, .bound_only = true, .stop = *stop};
        bound = mw_dual_certify(mw_ascend(scratch, copy, copy->price, &step_scale, &best, &ascent));
    }
    mw_arena_free(&scratch);
    return bound < cutoff ? bound : cutoff;
}

static MwSplit try_branching(const Chooser *chooser, const Candidate *candidate, MwCost cutoff,
                             const MwStop *stop)
{
    const MwCore *core = chooser->core;
    const MwDualNode *node = &chooser->dual->nodes[candidate->node];
    int rest = node->strategies - candidate->count;
    MwSplit split = {.node = node->node};
    split.set[0] = ascending(core->tables, candidate->order, candidate->count);
    split.set[1] = ascending(core->tables, candidate->order + candidate->count, rest);
    for (int i = 0; i < 2; i++)
        split.bound[i] = bound_child(core, node->node, split.set[i], cutoff, stop);
    return split;
}

/* Returns the score of a branching: the product of the rises of both bounds, each bounded below and
 * above. */
static double score_of(const Chooser *chooser, const MwSplit *split, double from)
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
    chooser.gap =
        cutoff < MW_ABOVE_ANY_COST ? fmax(1, (double)cutoff - bound) : mw_dual_step_gap(bound);
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
        MwSplit split = try_branching(&chooser, next, cutoff, stop);
        double score = score_of(&chooser, &split, bound);
        if (score > most) {
            best = split;
            most = score;
        }
    }
    mw_arena_free(&scratch);
    return best;
}
