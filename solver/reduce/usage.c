/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory usage of one node.
 *
 * What every strategy of a node uses in a row is used by every choice. It is subtracted from the
 * row's limit and from the node's usage; a usage that does not depend on the strategy thus
 * disappears, and the node can be eliminated. Each usage that is left has a least value of zero, so
 * a strategy that alone exceeds the remaining limit of a row is in no legal choice and is
 * forbidden. */
#include "solver/reduce/rules.h"

static __int128 least_limit(const MwCore *core, const MwCoreTerm *term)
{
    __int128 least = core->limit[term->first];
    for (int row = term->first + 1; row <= term->last; row++)
        if (core->limit[row] < least)
            least = core->limit[row];
    return least;
}

/* Subtracts the least usage from the term and its rows. Returns the greatest usage left. */
static int64_t subtract_constant(MwCore *core, MwCoreTerm *term)
{
    int64_t least = term->usage->least;
    for (int row = term->first; row <= term->last && least > 0; row++) {
        core->limit[row] -= least;
        if (core->limit[row] < core->least_limit)
            core->least_limit = core->limit[row];
    }
    if (least > 0)
        term->usage = mw_table_subtract(core->tables, term->usage, least);
    return term->usage->greatest;
}

static void forbid_excess(MwCore *core, int node, const MwCoreTerm *term)
{
    __int128 limit = least_limit(core, term);
    const MwTable *usage = term->usage;
    if (limit < 0) {
        core->infeasible = true;
        return;
    }
    int64_t *cost = mw_tables_scratch(core->tables, usage->count);
    bool any = false;
    for (int s = 0; s < usage->count; s++) {
        cost[s] = usage->at[s] > limit ? MW_FORBIDDEN : 0;
        any |= cost[s] != 0;
    }
    if (any)
        mw_core_add_cost(core, node, mw_table_intern(core->tables, 1, usage->dims, cost));
}

void mw_reduce_usage(MwCore *core, int node)
{
    MwCoreNode *at = &core->nodes[node];
    int kept = 0;
    for (int i = 0; i < at->terms.count; i++) {
        MwCoreTerm *term = &at->terms.at[i];
        int64_t greatest = subtract_constant(core, term);
        if (greatest > core->least_limit)
            forbid_excess(core, node, term);
        if (greatest > 0)
            at->terms.at[kept++] = *term;
    }
    at->terms.count = kept;
}
