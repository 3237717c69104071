/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Separable factors, and classes of strategies that a factor cannot tell apart.
 *
 * For each dimension of a factor's table, the least entry of every slice is moved to the cost of
 * that dimension's node. The sum of costs of any choice stays the same, as each choice takes one
 * entry of each slice family. What is left is non-negative with a least entry of zero in every
 * slice. If it is all zero the factor is gone; for a matrix this happens exactly when it is
 * separable, M[i][j] = r[i] + c[j]. A slice that is forbidden throughout makes its strategy
 * forbidden, which is arc consistency on infinite costs.
 *
 * Slices that are then equal are merged into one class, so that the table is as small as what the
 * factor can tell apart; no cost changes by that.
 *
 * Source: Scholz and Eckstein, LCTES 2002, section 3.2 (independent edges); soft arc consistency in
 * Cooper et al., Artificial Intelligence 174, 2010, section 4 (projection). */
#include "base/hash.h"
#include "solver/reduce.h"

#include <string.h>

typedef struct {
    const MwTable *margin[MW_TABLE_ARITY]; /* by class, to add to the node's cost; NULL: zero */
    const MwTable *merged[MW_TABLE_ARITY]; /* new class of each class; NULL: all are kept */
    const MwTable *rest;                   /* over the new classes; NULL: zero */
} Separation;

/* Subtracts the least entry of each slice of dimension `dim` and returns these, or NULL if zero. */
static const MwTable *take_margin(MwTables *tables, const MwTable *shape, int dim, int64_t *values)
{
    int64_t outer = mw_table_outer(shape, dim), inner = mw_table_inner(shape, dim);
    int size = shape->dims[dim];
    int64_t *least = MW_NEW(mw_tables_arena(tables), int64_t, size);
    bool any = false;
    for (int s = 0; s < size; s++)
        least[s] = MW_FORBIDDEN;
    for (int64_t i = 0; i < outer; i++)
        for (int s = 0; s < size; s++) {
            const int64_t *run = values + (i * size + s) * inner;
            for (int64_t k = 0; k < inner; k++)
                least[s] = mw_min(least[s], run[k]);
        }
    for (int s = 0; s < size; s++)
        any |= least[s] != 0;
    if (!any)
        return NULL;
    for (int64_t i = 0; i < outer; i++)
        for (int s = 0; s < size; s++) {
            int64_t *run = values + (i * size + s) * inner;
            if (least[s] < MW_FORBIDDEN)
                for (int64_t k = 0; k < inner; k++)
                    run[k] = mw_cost_subtract(run[k], least[s]);
        }
    return mw_table_intern(tables, 1, &size, least);
}

/* For each slice the first one equal to it, counted in order of first ones; NULL if all differ. */
static const MwTable *equal_slices(MwTables *tables, const MwTable *table, int dim)
{
    MwArena *scratch = mw_arena_new();
    int size = table->dims[dim], count = 0;
    size_t bytes = sizeof(int64_t) * (size_t)(table->count / size);
    const char *slices = (const char *)mw_table_slices(scratch, table, dim);
    uint64_t *hash = MW_NEW(scratch, uint64_t, size);
    int64_t *class = MW_NEW(scratch, int64_t, size);
    for (int s = 0; s < size; s++) {
        hash[s] = mw_hash_bytes(slices + (size_t)s * bytes, bytes);
        int t = 0;
        while (hash[t] != hash[s] ||
               memcmp(slices + (size_t)t * bytes, slices + (size_t)s * bytes, bytes) != 0)
            t++;
        class[s] = t < s ? class[t] : count++;
    }
    const MwTable *merged = count < size ? mw_table_intern(tables, 1, &size, class) : NULL;
    mw_arena_free(&scratch);
    return merged;
}

static void merge_classes(MwTables *tables, Separation *parts)
{
    for (int dim = 0; dim < parts->rest->arity; dim++) {
        const MwTable *merged = equal_slices(tables, parts->rest, dim);
        if (!merged)
            continue;
        parts->merged[dim] = merged;
        parts->rest =
            mw_table_select(tables, parts->rest, dim, mw_classes_renumber(tables, merged)->first);
    }
}

static const Separation *separate(MwTables *tables, const MwTable *table)
{
    int key[] = {MW_OPERATION_SEPARATE, table->id};
    Separation *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    Separation *made = MW_NEW(mw_tables_arena(tables), Separation, 1);
    int64_t *values = mw_tables_scratch(tables, table->count);
    memcpy(values, table->at, sizeof *values * (size_t)table->count);
    for (int dim = 0; dim < table->arity; dim++)
        made->margin[dim] = take_margin(tables, table, dim, values);
    bool any = false;
    for (int64_t i = 0; i < table->count && !any; i++)
        any = values[i] != 0;
    if (any) {
        made->rest = mw_table_intern(tables, table->arity, table->dims, values);
        merge_classes(tables, made);
    }
    mw_tables_remember(tables, key, MW_COUNT(key), made);
    return made;
}

void mw_reduce_separable(MwCore *core, int index)
{
    MwCoreFactor *factor = &core->factors.at[index];
    const Separation *parts = separate(core->tables, factor->cost);
    for (int i = 0; i < factor->cost->arity; i++)
        if (parts->margin[i])
            mw_core_add_cost(
                core, factor->scope[i],
                mw_table_select(core->tables, parts->margin[i], 0, factor->classes[i]));
    if (!parts->rest)
        mw_core_remove_factor(core, index);
    else if (parts->rest != factor->cost)
        mw_core_replace_factor(core, index, parts->merged, parts->rest);
}
