/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Separable cost functions, and classes of strategies that a cost function cannot tell apart.
 *
 * For each dimension of a cost function's table, the least entry of every slice is moved to the
 * cost of that dimension's node. The sum of costs of any choice stays the same, as each choice
 * takes one entry of each slice family. What is left is non-negative with a least entry of zero in
 * every slice. If it is all zero the cost function is gone; for a matrix this happens exactly when
 * it is separable, M[i][j] = r[i] + c[j]. A slice that is forbidden throughout makes its strategy
 * forbidden, which is arc consistency on infinite costs.
 *
 * Slices that are then equal are merged into one class, so that the table is as small as what the
 * cost function can tell apart; no cost changes by that.
 *
 * Source: Scholz and Eckstein, LCTES 2002, section 3.2 (independent edges); soft arc consistency in
 * Cooper et al., Artificial Intelligence 174, 2010, section 4 (projection). */
#include "solver/core/separate.h"
#include "solver/reduce/rules.h"

#include <string.h>

static const MwSeparation *separate(MwTables *tables, const MwTable *table)
{
    int key[] = {MW_OPERATION_SEPARATE, table->id};
    const MwSeparation *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    int64_t *values = mw_tables_scratch(tables, table->count);
    memcpy(values, table->at, sizeof *values * (size_t)table->count);
    const MwSeparation *made =
        mw_separate(mw_tables_arena(tables), tables, table->arity, table->dims, values);
    mw_tables_remember(tables, key, MW_COUNT(key), (void *)made);
    return made;
}

static void add_margin(MwCore *core, int node, const MwTable *classes, const int64_t *margin)
{
    int64_t *cost = mw_tables_scratch(core->tables, classes->count);
    for (int64_t s = 0; s < classes->count; s++)
        cost[s] = margin[classes->at[s]];
    mw_core_add_cost(core, node, mw_table_intern(core->tables, 1, classes->dims, cost));
}

void mw_reduce_separable(MwCore *core, int index)
{
    MwCostFunction *function = &core->functions.at[index];
    if (function->cost->separated)
        return;
    const MwSeparation *parts = separate(core->tables, function->cost);
    for (int i = 0; i < function->cost->arity; i++)
        if (parts->margin[i])
            add_margin(core, function->scope[i], function->classes[i], parts->margin[i]);
    if (!parts->rest)
        mw_core_remove_function(core, index);
    else if (parts->rest != function->cost)
        mw_core_replace_function(core, index, parts->merged, parts->rest);
}
