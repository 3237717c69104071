/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominated strategies.
 *
 * Strategy t dominates s of the same node if t uses no more memory in any row, and
 *     cost[t] - cost[s] + sum over cost functions F of max over the others of (F[t] - F[s]) <= 0
 * where the maximum is over the strategies of F's other nodes at which F[s] is allowed. Then in any
 * legal choice with s, putting t in its place costs no more and uses no more, so some best choice
 * does without s. Of equals the lower index stays. Dominance is transitive, so all pairs can be looked at in one pass as long as
 * what dominates has not itself been taken away.
 *
 * Several strategies can dominate s together: if there is a cost function G, such that for each
 * place of its other nodes at which s is allowed some t uses no more memory than s in any row, and
 *     cost[t] - cost[s] + G[t] - G[s] at that place + sum over the other functions as above <= 0,
 * then in any legal choice with s, the t of the place that G's others have costs no more.
 *
 * As every slice of a cost function has a least entry of zero (separable.c), each maximum is at
 * least zero, and the search stops as soon as the sum exceeds cost[s] - cost[t].
 *
 * Source: Goldstein, Efficient rotamer elimination, Biophysical Journal 66, 1994 (dead-end
 * elimination); Hames and Scholz, Nearly optimal register allocation with PBQP, 2006; several
 * together: Pierce, Spriet, Desmet and Mayo, Conformational splitting, Journal of Computational
 * Chemistry 21, 2000. */
#include "solver/reduce/reduce.h"
#include "solver/reduce/rules.h"

#include <string.h>

/* Comparisons of entries for one node, above which it is not tried; and with several together. */
#define EFFORT (64 * MW_TABLE_ENTRIES)
#define EFFORT_TOGETHER (4 * MW_TABLE_ENTRIES)

/* A cost function as the node sees it. */
typedef struct {
    const MwTable *cost;
    int dim;                /* the node's */
    const int64_t *classes; /* of the node's strategies */
    int64_t width;          /* places of the other nodes */
    const int64_t *view;    /* [class][width]; NULL: not yet needed */
    /* Of several together: */
    int64_t loss;    /* the most that t can cost more than s here */
    bool *covered;   /* [width] where some t is no worse than s */
    int64_t missing; /* places not covered, of those where s is allowed */
} Side;

typedef struct {
    MwArena *scratch;
    const MwCoreNode *node;
    int strategies;
    int side_count;
    Side *sides;
    int64_t gain; /* for several together: the most that leaving s can save in one cost function */
} Comparison;

static int fill_key(const MwCore *core, int node, MwOperation operation, int *key)
{
    const MwCoreNode *at = &core->nodes[node];
    int count = 0;
    key[count++] = operation;
    key[count++] = at->cost->id;
    key[count++] = at->terms.count;
    for (int i = 0; i < at->terms.count; i++)
        key[count++] = at->terms.at[i].usage->id;
    for (int i = 0; i < at->functions.count; i++) {
        const MwCostFunction *function = &core->functions.at[at->functions.at[i]];
        int dim = mw_core_position(function, node);
        key[count++] = function->cost->id;
        key[count++] = dim;
        key[count++] = function->classes[dim]->id;
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

static const int64_t *slice(const Comparison *with, Side *side, int strategy)
{
    if (!side->view)
        side->view = mw_table_slices(with->scratch, side->cost, side->dim);
    return side->view + side->classes[strategy] * side->width;
}

/* How much more t can cost than s in one cost function, as far as it is at most `most`. */
static int64_t side_loss(const Comparison *with, Side *side, int t, int s, int64_t most)
{
    if (side->classes[t] == side->classes[s])
        return 0;
    return greatest_loss(slice(with, side, t), slice(with, side, s), side->width, most);
}

static bool dominates(const Comparison *with, int t, int s)
{
    int64_t left = with->node->cost->at[s] - with->node->cost->at[t];
    if (left < 0 || !uses_no_more(with->node, t, s))
        return false;
    for (int i = 0; i < with->side_count && left >= 0; i++)
        left -= side_loss(with, &with->sides[i], t, s, left);
    return left >= 0;
}

static bool forbids(int64_t loss)
{
    return loss > MW_FORBIDDEN / 2;
}

/* Cost of t less that of s plus all losses, without those that forbid, of which there may be one:
 * it is in *only, or that is NULL. False if even without the greatest loss there is too much. */
static bool sum_losses(Comparison *with, int t, int s, int64_t *sum, const Side **only)
{
    int64_t greatest = 0;
    *sum = with->node->cost->at[t] - with->node->cost->at[s];
    *only = NULL;
    for (int i = 0; i < with->side_count; i++) {
        Side *side = &with->sides[i];
        side->loss = side_loss(with, side, t, s, INT64_MAX);
        if (forbids(side->loss) && *only)
            return false;
        if (forbids(side->loss)) {
            *only = side;
        } else {
            *sum += side->loss;
            greatest = mw_max(greatest, side->loss);
        }
        if (*sum - (*only ? 0 : greatest) > with->gain)
            return false;
    }
    return true;
}

/* Notes where t is no worse than s if one cost function's others are where they are, and those of
 * all other cost functions anywhere. True if that leaves no place of some cost function. */
static bool cover(Comparison *with, int t, int s)
{
    int64_t sum;
    const Side *only;
    if (!uses_no_more(with->node, t, s) || !sum_losses(with, t, s, &sum, &only))
        return false;
    for (int i = 0; i < with->side_count; i++) {
        Side *side = &with->sides[i];
        if (only && only != side)
            continue;
        int64_t rest = only ? sum : sum - side->loss;
        const int64_t *of_t = slice(with, side, t), *of_s = slice(with, side, s);
        for (int64_t k = 0; k < side->width; k++)
            if (!side->covered[k] && of_s[k] < MW_FORBIDDEN && rest + of_t[k] - of_s[k] <= 0) {
                side->covered[k] = true;
                side->missing--;
            }
        if (side->missing == 0)
            return true;
    }
    return false;
}

static void begin_covering(Comparison *with, int s)
{
    with->gain = 0;
    for (int i = 0; i < with->side_count; i++) {
        Side *side = &with->sides[i];
        const int64_t *of_s = slice(with, side, s);
        side->missing = 0;
        for (int64_t k = 0; k < side->width; k++) {
            side->covered[k] = false;
            if (of_s[k] < MW_FORBIDDEN) {
                side->missing++;
                with->gain = mw_max(with->gain, of_s[k]);
            }
        }
    }
}

static bool dominated(Comparison *with, bool together, const int64_t *gone, int s)
{
    if (together)
        begin_covering(with, s);
    for (int t = 0; t < with->strategies; t++) {
        if (t == s || gone[t])
            continue;
        if (together ? cover(with, t, s) : dominates(with, t, s))
            return true;
    }
    return false;
}

/* Positions not dominated; the node's cost itself if none is. */
static const MwTable *undominated(MwTables *tables, Comparison *with, bool together)
{
    int n = with->strategies;
    int64_t *keep = mw_tables_scratch(tables, 2 * n), *gone = keep + n;
    memset(gone, 0, sizeof *gone * (size_t)n);
    for (int s = n - 1; s >= 0; s--)
        gone[s] = dominated(with, together, gone, s);
    int count = 0;
    for (int s = 0; s < n; s++)
        if (!gone[s])
            keep[count++] = s;
    return count == n ? with->node->cost : mw_table_intern(tables, 1, &count, keep);
}

static const MwTable *compare_all(MwCore *core, int node, bool together)
{
    const MwCoreNode *at = &core->nodes[node];
    MwArena *scratch = mw_arena_new();
    Comparison with = {.scratch = scratch,
                       .node = at,
                       .strategies = (int)at->cost->count,
                       .side_count = at->functions.count,
                       .sides = MW_NEW(scratch, Side, at->functions.count)};
    int64_t entries = 0;
    for (int i = 0; i < with.side_count; i++) {
        const MwCostFunction *function = &core->functions.at[at->functions.at[i]];
        int dim = mw_core_position(function, node);
        int64_t width = function->cost->count / function->cost->dims[dim];
        with.sides[i] = (Side){function->cost, dim, function->classes[dim]->at, width};
        if (together)
            with.sides[i].covered = MW_NEW(scratch, bool, width);
        entries += width;
    }
    int64_t most = together ? EFFORT_TOGETHER : EFFORT;
    const MwTable *keep = at->cost;
    if (entries <= most / with.strategies / with.strategies)
        keep = undominated(core->tables, &with, together);
    mw_arena_free(&scratch);
    return keep;
}

static void restrict_to(MwCore *core, int node, const MwTable *keep)
{
    if (keep != core->nodes[node].cost)
        mw_core_restrict(core, node, keep);
}

static void reduce(MwCore *core, int node, bool together)
{
    const MwCoreNode *at = &core->nodes[node];
    if (at->cost->count == 1)
        return;
    int *key = mw_tables_key(core->tables, 3 + at->terms.count + 3 * at->functions.count);
    int count = fill_key(core, node,
                         together ? MW_OPERATION_DOMINANCE_TOGETHER : MW_OPERATION_DOMINANCE, key);
    const MwTable *keep = mw_tables_recall(core->tables, key, count);
    if (!keep) {
        keep = compare_all(core, node, together);
        mw_tables_remember(core->tables, key, count, (void *)keep);
    }
    restrict_to(core, node, keep);
}

void mw_reduce_dominated(MwCore *core, int node)
{
    reduce(core, node, false);
}

void mw_reduce_dominated_together(MwCore *core, int node)
{
    reduce(core, node, true);
}
