/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Separable cost functions, and classes of strategies that a cost function does not distinguish.
 *
 * For each dimension of a cost function's table, the least entry of every slice is projected onto
 * the cost of that dimension's node. Each choice takes exactly one slice of each dimension, so the
 * sum of its costs stays the same. The residual is non-negative and has a least entry of zero in
 * every slice. If the residual is zero the cost function is removed; for a matrix this happens
 * exactly when it is separable, M[i][j] = r[i] + c[j]. If all entries of a slice are forbidden, its
 * strategy becomes forbidden, which is arc consistency on infinite costs.
 *
 * Slices that are then equal are merged into one class, so that the table is as small as the number
 * of strategies that the function distinguishes allows. The merge changes no cost.
 *
 * Sources: Scholz and Eckstein, LCTES 2002, section 3.2 (independent edges); soft arc consistency
 * by projection: Cooper et al., Artificial Intelligence 174, 2010, section 4. */
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

static void add_unary_cost(MwCore *core, int node, const MwTable *classes, const int64_t *unary)
{
    int64_t *cost = mw_tables_scratch(core->tables, classes->count);
    for (int64_t s = 0; s < classes->count; s++)
        cost[s] = unary[classes->at[s]];
    mw_core_add_cost(core, node, mw_table_intern(core->tables, 1, classes->dims, cost));
}

void mw_reduce_separable(MwCore *core, int index)
{
    MwCostFunction *function = &core->functions.at[index];
    if (function->cost->separated)
        return;
    const MwSeparation *separation = separate(core->tables, function->cost);
    for (int i = 0; i < function->cost->arity; i++)
        if (separation->unary[i])
            add_unary_cost(core, function->scope[i], function->classes[i], separation->unary[i]);
    if (!separation->residual)
        mw_core_remove_function(core, index);
    else if (separation->residual != function->cost)
        mw_core_replace_function(core, index, separation->merged, separation->residual);
}
