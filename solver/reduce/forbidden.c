/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forbidden strategies, and the constant part of a node's cost.
 *
 * A strategy of forbidden cost is in no legal choice, so it can be removed; if none is left, no
 * legal choice exists. The least cost of a node is paid by every choice and moves to the constant.
 * Together with separable.c this makes the problem arc consistent: Mackworth, Consistency in
 * networks of relations, Artificial Intelligence 8, 1977. */
#include "solver/reduce/rules.h"

/* Returns the strategies of finite cost; the cost table itself if all are, NULL if none is. */
static const MwTable *allowed(MwTables *tables, const MwTable *cost)
{
    if (cost->greatest < MW_FORBIDDEN)
        return cost;
    int64_t *keep = mw_tables_scratch(tables, cost->count);
    int count = 0;
    for (int s = 0; s < cost->count; s++)
        if (cost->at[s] < MW_FORBIDDEN)
            keep[count++] = s;
    return count ? mw_table_intern(tables, 1, &count, keep) : NULL;
}

void mw_reduce_forbidden(MwCore *core, int node)
{
    MwCoreNode *at = &core->nodes[node];
    const MwTable *keep = allowed(core->tables, at->cost);
    if (!keep) {
        core->infeasible = true;
        return;
    }
    if (keep != at->cost)
        mw_core_restrict(core, node, keep);
    int64_t least = at->cost->least;
    at->cost = mw_table_lower(core->tables, at->cost, least);
    core->constant += least;
}
