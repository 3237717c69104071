/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominated strategies.
 *
 * Strategy t dominates strategy s of the same node if t uses no more memory in any row and
 *   cost[t] - cost[s] + sum over cost functions F of max over tuples (F[t] - F[s]) <= 0
 * where the maximum is over the tuples of strategies of F's other nodes at which F[s] is allowed.
 * Replacing s by t in a legal choice then increases neither cost nor usage, so some optimal choice
 * does not take s. Of strategies that dominate each other the one of lower index stays. Dominance
 * is transitive, so one pass over all pairs suffices, as long as the dominating strategy has not
 * been removed itself.
 *
 * Several strategies can dominate s jointly. Let G be one of the cost functions. If for each tuple
 * of G's other nodes at which s is allowed there is a t that uses no more memory than s in any row
 * and has
 *   cost[t] - cost[s] + G[t] - G[s] at that tuple + sum over the other functions as above <= 0,
 * then in any legal choice with s, replacing s by the t of the tuple that the choice has costs no
 * more.
 *
 * Every slice of a cost function has a least entry of zero (separable.c), so each maximum is at
 * least zero, and the sum is abandoned as soon as it exceeds cost[s] - cost[t].
 *
 * Sources: Goldstein, Efficient rotamer elimination, Biophysical Journal 66, 1994 (dead-end
 * elimination); Hames and Scholz, Nearly optimal register allocation with PBQP, 2006; joint
 * dominance: Pierce, Spriet, Desmet and Mayo, Conformational splitting, Journal of Computational
 * Chemistry 21, 2000. */
#include "solver/reduce/reduce.h"
#include "solver/reduce/rules.h"

#include <string.h>

/* Comparisons of entries for one node, above which it is not tried; and with several together. */
#define EFFORT (64 * MW_TABLE_ENTRIES)
#define EFFORT_TOGETHER (4 * MW_TABLE_ENTRIES)

/* A cost function as the node at hand sees it. */
typedef struct {
    const MwTable *cost;
    int dim;                /* dimension of the node */
    const int64_t *classes; /* class of each of the node's strategies */
    int64_t tuples;         /* number of tuples of classes of the other nodes */
    const int64_t *slices;  /* [class][tuples] entries; NULL: not yet computed */
    /* The fields below serve joint dominance. */
    int64_t loss; /* the most that t can cost more than s in this function */
    /* [tuples] the entry of s; INT64_MIN where s is forbidden, or covered: some t is no worse */
    int64_t *open;
    int64_t open_count; /* tuples that are neither */
} NodeFunction;

typedef struct {
    MwArena *scratch;
    const MwCoreNode *node;
    int strategies;
    int function_count;
    NodeFunction *functions;
    /* for joint dominance: the most that leaving s can save in one cost function */
    int64_t greatest_saving;
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

/* Returns the maximum over tuples of t - s, or any value above `most` if the maximum exceeds
 * `most`. It looks whether that is so once a block. */
MW_VECTORISED static int64_t greatest_loss(const int64_t *t, const int64_t *s, int64_t tuples,
                                           int64_t most)
{
    enum { BLOCK = 64 };
    int64_t greatest = 0;
    for (int64_t begin = 0; begin < tuples && greatest <= most; begin += BLOCK) {
        const int64_t end = mw_min(begin + BLOCK, tuples);
        for (int64_t i = begin; i < end; i++) {
            const int64_t loss = s[i] < MW_FORBIDDEN ? t[i] - s[i] : 0;
            greatest = loss > greatest ? loss : greatest;
        }
    }
    return greatest;
}

static const int64_t *slice(const Comparison *with, NodeFunction *function, int strategy)
{
    if (!function->slices)
        function->slices = mw_table_slices(with->scratch, function->cost, function->dim);
    return function->slices + function->classes[strategy] * function->tuples;
}

/* Returns how much more t can cost than s in one cost function; any value above `most` if it is
 * more. */
static int64_t function_loss(const Comparison *with, NodeFunction *function, int t, int s,
                             int64_t most)
{
    if (function->classes[t] == function->classes[s])
        return 0;
    return greatest_loss(slice(with, function, t), slice(with, function, s), function->tuples,
                         most);
}

static bool dominates(const Comparison *with, int t, int s)
{
    int64_t left = with->node->cost->at[s] - with->node->cost->at[t];
    if (left < 0 || !uses_no_more(with->node, t, s))
        return false;
    for (int i = 0; i < with->function_count && left >= 0; i++)
        left -= function_loss(with, &with->functions[i], t, s, left);
    return left >= 0;
}

static bool forbids(int64_t loss)
{
    return loss > MW_FORBIDDEN / 2;
}

/* Sums cost[t] - cost[s] and all losses, except that of a function in which t can be forbidden.
 * There may be one such function, which goes to *only (otherwise NULL). Returns false if t covers
 * no tuple of any function: two functions can forbid t, or the sum without the greatest loss is too
 * large. */
static bool sum_losses(Comparison *with, int t, int s, int64_t *sum, const NodeFunction **only)
{
    int64_t greatest = 0;
    *sum = with->node->cost->at[t] - with->node->cost->at[s];
    *only = NULL;
    for (int i = 0; i < with->function_count; i++) {
        NodeFunction *function = &with->functions[i];
        function->loss = function_loss(with, function, t, s, INT64_MAX);
        if (forbids(function->loss) && *only)
            return false;
        if (forbids(function->loss)) {
            *only = function;
        } else {
            *sum += function->loss;
            greatest = mw_max(greatest, function->loss);
        }
        if (*sum - (*only ? 0 : greatest) > with->greatest_saving)
            return false;
    }
    return true;
}

/* Closes the tuples at which t, with `rest` besides, costs no more than s. Returns their number. */
MW_VECTORISED static int64_t cover_function(const int64_t *t, int64_t rest, int64_t tuples,
                                            int64_t *open)
{
    int64_t count = 0;
    for (int64_t k = 0; k < tuples; k++) {
        const bool is_covered = rest + t[k] <= open[k];
        count += is_covered;
        open[k] = is_covered ? INT64_MIN : open[k];
    }
    return count;
}

/* Marks the tuples of each cost function at which t is no worse than s, whatever the other cost
 * functions' nodes choose. Returns true if all tuples of some cost function are covered. */
static bool cover(Comparison *with, int t, int s)
{
    int64_t sum;
    const NodeFunction *only;
    if (!uses_no_more(with->node, t, s) || !sum_losses(with, t, s, &sum, &only))
        return false;
    for (int i = 0; i < with->function_count; i++) {
        NodeFunction *function = &with->functions[i];
        if (only && only != function)
            continue;
        function->open_count -=
            cover_function(slice(with, function, t), only ? sum : sum - function->loss,
                           function->tuples, function->open);
        if (function->open_count == 0)
            return true;
    }
    return false;
}

static void begin_covering(Comparison *with, int s)
{
    with->greatest_saving = 0;
    for (int i = 0; i < with->function_count; i++) {
        NodeFunction *function = &with->functions[i];
        const int64_t *of_s = slice(with, function, s);
        function->open_count = 0;
        for (int64_t k = 0; k < function->tuples; k++) {
            const bool is_allowed = of_s[k] < MW_FORBIDDEN;
            function->open[k] = is_allowed ? of_s[k] : INT64_MIN;
            function->open_count += is_allowed;
            with->greatest_saving = mw_max(with->greatest_saving, is_allowed ? of_s[k] : 0);
        }
    }
}

static bool dominated(Comparison *with, bool jointly, const int64_t *removed, int s)
{
    if (jointly)
        begin_covering(with, s);
    for (int t = 0; t < with->strategies; t++) {
        if (t == s || removed[t])
            continue;
        if (jointly ? cover(with, t, s) : dominates(with, t, s))
            return true;
    }
    return false;
}

/* Returns the strategies that are not dominated; the node's cost table itself if none is
 * dominated. */
static const MwTable *undominated(MwTables *tables, Comparison *with, bool jointly)
{
    int n = with->strategies;
    int64_t *keep = mw_tables_scratch(tables, 2 * n), *removed = keep + n;
    memset(removed, 0, sizeof *removed * (size_t)n);
    for (int s = n - 1; s >= 0; s--)
        removed[s] = dominated(with, jointly, removed, s);
    int count = 0;
    for (int s = 0; s < n; s++)
        if (!removed[s])
            keep[count++] = s;
    return count == n ? with->node->cost : mw_table_intern(tables, 1, &count, keep);
}

static const MwTable *compare_all(MwCore *core, int node, bool jointly)
{
    const MwCoreNode *at = &core->nodes[node];
    MwArena *scratch = mw_arena_new();
    Comparison with = {.scratch = scratch,
                       .node = at,
                       .strategies = (int)at->cost->count,
                       .function_count = at->functions.count,
                       .functions = MW_NEW(scratch, NodeFunction, at->functions.count)};
    int64_t entries = 0;
    for (int i = 0; i < with.function_count; i++) {
        const MwCostFunction *function = &core->functions.at[at->functions.at[i]];
        int dim = mw_core_position(function, node);
        int64_t tuples = function->cost->count / function->cost->dims[dim];
        with.functions[i] = (NodeFunction){function->cost, dim, function->classes[dim]->at, tuples};
        if (jointly)
            with.functions[i].open = MW_NEW(scratch, int64_t, tuples);
        entries += tuples;
    }
    int64_t most = jointly ? EFFORT_TOGETHER : EFFORT;
    const MwTable *keep = at->cost;
    if (entries <= most / with.strategies / with.strategies)
        keep = undominated(core->tables, &with, jointly);
    mw_arena_free(&scratch);
    return keep;
}

static void restrict_to(MwCore *core, int node, const MwTable *keep)
{
    if (keep != core->nodes[node].cost)
        mw_core_restrict(core, node, keep);
}

static void reduce(MwCore *core, int node, bool jointly)
{
    const MwCoreNode *at = &core->nodes[node];
    if (at->cost->count == 1)
        return;
    int *key = mw_tables_key(core->tables, 3 + at->terms.count + 3 * at->functions.count);
    int count =
        fill_key(core, node, jointly ? MW_OPERATION_JOINT_DOMINANCE : MW_OPERATION_DOMINANCE, key);
    const MwTable *keep = mw_tables_recall(core->tables, key, count);
    if (!keep) {
        keep = compare_all(core, node, jointly);
        mw_tables_remember(core->tables, key, count, (void *)keep);
    }
    restrict_to(core, node, keep);
}

void mw_reduce_dominated(MwCore *core, int node)
{
    reduce(core, node, false);
}

void mw_reduce_jointly_dominated(MwCore *core, int node)
{
    reduce(core, node, true);
}
