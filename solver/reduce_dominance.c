/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominated strategies.
 *
 * Strategy t dominates s of the same node if t uses no more memory in any row, and
 *     cost[t] - cost[s] + sum over factors of max over the others' strategies of (F[t] - F[s]) <= 0
 * where the maximum is over places where F[s] is allowed. Then in any legal choice with s, putting
 * t in its place costs no more and uses no more, so some best choice does without s. Of equals the
 * lower index stays. Dominance is transitive, so all pairs can be looked at in one pass as long as
 * what dominates has not itself been taken away.
 *
 * As every slice of a factor has a least entry of zero (reduce_separable.c), each maximum is at
 * least zero, and the search stops as soon as the sum exceeds cost[s] - cost[t].
 *
 * Source: Goldstein, Efficient rotamer elimination, Biophysical Journal 66, 1994 (dead-end
 * elimination); Hames and Scholz, Nearly optimal register allocation with PBQP, 2006. */
#include "solver/reduce.h"

#include <string.h>

enum {
    EFFORT_LIMIT = 1 << 28, /* comparisons of entries for one node; above this it is not tried */
    HUB = 100               /* a node of more factors is like no other: not remembered */
};

typedef struct {
    const MwCore *core;
    MwArena *scratch;
    const MwCoreNode *node;
    int index, strategies;
    const int64_t **view; /* [factor] laid out [class][others]; NULL: not yet needed */
} Comparison;

static int fill_key(const MwCore *core, int node, int *key)
{
    const MwCoreNode *at = &core->nodes[node];
    int count = 0;
    key[count++] = MW_OPERATION_DOMINANCE;
    key[count++] = at->cost->id;
    key[count++] = at->terms.count;
    for (int i = 0; i < at->terms.count; i++)
        key[count++] = at->terms.at[i].usage->id;
    for (int i = 0; i < at->factors.count; i++) {
        const MwCoreFactor *factor = &core->factors.at[at->factors.at[i]];
        int dim = mw_core_position(factor, node);
        key[count++] = factor->cost->id;
        key[count++] = dim;
        key[count++] = factor->classes[dim]->id;
    }
    return count;
}

static bool uses_no_more(const MwCoreNode *node, int t, int s)
{
    for (int i = 0; i < node->terms.count; i++)
        if (node->terms.at[i].usage->at[t] > node->terms.at[i].usage->at[s])
            return false;
    return true;
}

/* max over the others of F[t] - F[s], or something above `most` if it is. */
static int64_t greatest_loss(const int64_t *t, const int64_t *s, int64_t width, int64_t most)
{
    int64_t greatest = 0;
    for (int64_t i = 0; i < width; i++) {
        int64_t loss = s[i] < MW_FORBIDDEN ? t[i] - s[i] : 0;
        if (loss > greatest) {
            if (loss > most)
                return loss;
            greatest = loss;
        }
    }
    return greatest;
}

/* How much more t can cost than s in one factor, as far as it is at most `most`. */
static int64_t factor_loss(const Comparison *with, int i, int t, int s, int64_t most)
{
    const MwCoreFactor *factor = &with->core->factors.at[with->node->factors.at[i]];
    int dim = mw_core_position(factor, with->index);
    int64_t class_t = factor->classes[dim]->at[t], class_s = factor->classes[dim]->at[s];
    if (class_t == class_s)
        return 0;
    if (!with->view[i])
        with->view[i] = mw_table_slices(with->scratch, factor->cost, dim);
    int64_t width = factor->cost->count / factor->cost->dims[dim];
    return greatest_loss(with->view[i] + class_t * width, with->view[i] + class_s * width, width,
                         most);
}

static bool dominates(const Comparison *with, int t, int s)
{
    int64_t left = with->node->cost->at[s] - with->node->cost->at[t];
    if (left < 0 || !uses_no_more(with->node, t, s))
        return false;
    for (int i = 0; i < with->node->factors.count && left >= 0; i++)
        left -= factor_loss(with, i, t, s, left);
    return left >= 0;
}

/* Positions not dominated; the node's cost itself if none is. */
static const MwTable *undominated(MwTables *tables, const Comparison *with)
{
    int n = with->strategies;
    int64_t *keep = mw_tables_scratch(tables, 2 * n), *gone = keep + n;
    memset(gone, 0, sizeof *gone * (size_t)n);
    for (int s = n - 1; s >= 0; s--)
        for (int t = 0; t < n && !gone[s]; t++)
            gone[s] = t != s && !gone[t] && dominates(with, t, s);
    int count = 0;
    for (int s = 0; s < n; s++)
        if (!gone[s])
            keep[count++] = s;
    return count == n ? with->node->cost : mw_table_intern(tables, 1, &count, keep);
}

static const MwTable *compare_all(MwCore *core, int node)
{
    const MwCoreNode *at = &core->nodes[node];
    int n = (int)at->cost->count;
    int64_t entries = 0;
    for (int i = 0; i < at->factors.count; i++) {
        const MwCoreFactor *factor = &core->factors.at[at->factors.at[i]];
        entries += factor->cost->count / factor->cost->dims[mw_core_position(factor, node)];
    }
    if (entries > EFFORT_LIMIT / n / n)
        return at->cost;
    MwArena *scratch = mw_arena_new();
    Comparison with = {
        .core = core, .scratch = scratch, .node = at, .index = node, .strategies = n};
    with.view = MW_NEW(scratch, const int64_t *, at->factors.count);
    const MwTable *keep = undominated(core->tables, &with);
    mw_arena_free(&scratch);
    return keep;
}

static void restrict_to(MwCore *core, int node, const MwTable *keep)
{
    if (keep != core->nodes[node].cost)
        mw_core_restrict(core, node, keep);
}

void mw_reduce_dominated(MwCore *core, int node)
{
    const MwCoreNode *at = &core->nodes[node];
    if (at->cost->count == 1)
        return;
    if (at->factors.count > HUB) {
        restrict_to(core, node, compare_all(core, node));
        return;
    }
    int *key = mw_tables_key(core->tables, 3 + at->terms.count + 3 * at->factors.count);
    int count = fill_key(core, node, key);
    const MwTable *keep = mw_tables_recall(core->tables, key, count);
    if (!keep) {
        keep = compare_all(core, node);
        mw_tables_remember(core->tables, key, count, (void *)keep);
    }
    restrict_to(core, node, keep);
}
