/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on tables: add, sum, permute, select, squeeze, lower, subtract. */
#include "solver/core/table.h"
#include "solver/cost.h"

#include <string.h>

int64_t mw_table_outer(const MwTable *table, int dim)
{
    int64_t product = 1;
    for (int i = 0; i < dim; i++)
        product *= table->dims[i];
    return product;
}

int64_t mw_table_inner(const MwTable *table, int dim)
{
    int64_t product = 1;
    for (int i = dim + 1; i < table->arity; i++)
        product *= table->dims[i];
    return product;
}

/* Interns the result of an operation and remembers it. A remembered table is shared, so nobody
 * writes to it. */
static const MwTable *remember_table(MwTables *tables, const int *key, int count, int arity,
                                     const int *dims, int64_t *values)
{
    const MwTable *result = mw_table_intern(tables, arity, dims, values);
    mw_tables_remember(tables, key, count, (void *)result);
    return result;
}

const MwTable *mw_table_add(MwTables *tables, const MwTable *a, const MwTable *b)
{
    MW_ASSERT(a->arity == b->arity && a->count == b->count);
    if (a->id > b->id) {
        const MwTable *swap = a;
        a = b;
        b = swap;
    }
    int key[] = {MW_OPERATION_ADD, a->id, b->id};
    const MwTable *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    int64_t *values = mw_tables_scratch(tables, a->count);
    /* Finite costs may be negative (certify.c). A forbidden one stays forbidden even then. */
    for (int64_t i = 0; i < a->count; i++)
        values[i] = a->at[i] < MW_FORBIDDEN && b->at[i] < MW_FORBIDDEN
                        ? mw_cost_add(a->at[i], b->at[i])
                        : MW_FORBIDDEN;
    return remember_table(tables, key, MW_COUNT(key), a->arity, a->dims, values);
}

const MwTable *mw_table_sum(MwTables *tables, const MwTable *a, const MwTable *b)
{
    MW_ASSERT(a->arity == b->arity && a->count == b->count);
    int key[] = {MW_OPERATION_SUM, (int)mw_min(a->id, b->id), (int)mw_max(a->id, b->id)};
    const MwTable *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    int64_t *values = mw_tables_scratch(tables, a->count);
    for (int64_t i = 0; i < a->count; i++)
        if (__builtin_add_overflow(a->at[i], b->at[i], &values[i]))
            values[i] = INT64_MAX;
    return remember_table(tables, key, MW_COUNT(key), a->arity, a->dims, values);
}

const MwTable *mw_table_permute(MwTables *tables, const MwTable *table, const int *order)
{
    int key[2 + MW_TABLE_ARITY] = {MW_OPERATION_PERMUTE, table->id};
    memcpy(key + 2, order, sizeof *order * (size_t)table->arity);
    const MwTable *known = mw_tables_recall(tables, key, 2 + table->arity);
    if (known)
        return known;
    int dims[MW_TABLE_ARITY], at[MW_TABLE_ARITY] = {0};
    int64_t stride[MW_TABLE_ARITY];
    for (int i = 0; i < table->arity; i++) {
        dims[i] = table->dims[order[i]];
        stride[i] = mw_table_inner(table, order[i]);
    }
    int64_t *values = mw_tables_scratch(tables, table->count), from = 0;
    for (int64_t to = 0; to < table->count; to++) {
        values[to] = table->at[from];
        for (int i = table->arity - 1; i >= 0; i--) {
            from += stride[i];
            if (++at[i] < dims[i])
                break;
            from -= stride[i] * dims[i];
            at[i] = 0;
        }
    }
    return remember_table(tables, key, 2 + table->arity, table->arity, dims, values);
}

const MwTable *mw_table_select(MwTables *tables, const MwTable *table, int dim, const MwTable *list)
{
    int key[] = {MW_OPERATION_SELECT, table->id, dim, list->id};
    const MwTable *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    int64_t outer = mw_table_outer(table, dim), inner = mw_table_inner(table, dim);
    int64_t *values = mw_tables_scratch(tables, outer * list->count * inner), *to = values;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t k = 0; k < list->count; k++, to += inner)
            memcpy(to, table->at + (i * table->dims[dim] + list->at[k]) * inner,
                   sizeof *to * (size_t)inner);
    int dims[MW_TABLE_ARITY];
    memcpy(dims, table->dims, sizeof *dims * (size_t)table->arity);
    dims[dim] = (int)list->count;
    return remember_table(tables, key, MW_COUNT(key), table->arity, dims, values);
}

const MwTable *mw_table_squeeze(MwTables *tables, const MwTable *table, int dim)
{
    MW_ASSERT(table->arity > 1 && table->dims[dim] == 1);
    int dims[MW_TABLE_ARITY], arity = 0;
    for (int i = 0; i < table->arity; i++)
        if (i != dim)
            dims[arity++] = table->dims[i];
    return mw_table_intern(tables, arity, dims, table->at);
}

const MwTable *mw_table_lower(MwTables *tables, const MwTable *table, int64_t amount)
{
    if (amount == 0)
        return table;
    int64_t *values = mw_tables_scratch(tables, table->count);
    for (int64_t i = 0; i < table->count; i++)
        values[i] = mw_cost_subtract(table->at[i], amount);
    return mw_table_intern(tables, table->arity, table->dims, values);
}

const MwTable *mw_table_subtract(MwTables *tables, const MwTable *table, int64_t amount)
{
    int64_t *values = mw_tables_scratch(tables, table->count);
    for (int64_t i = 0; i < table->count; i++)
        values[i] = table->at[i] - amount;
    return mw_table_intern(tables, table->arity, table->dims, values);
}

const int64_t *mw_table_slices(MwArena *arena, const MwTable *table, int dim)
{
    int64_t outer = mw_table_outer(table, dim), inner = mw_table_inner(table, dim);
    if (outer == 1)
        return table->at;
    int64_t *slices = MW_NEW(arena, int64_t, table->count), *to = slices;
    for (int s = 0; s < table->dims[dim]; s++)
        for (int64_t i = 0; i < outer; i++, to += inner)
            memcpy(to, table->at + (i * table->dims[dim] + s) * inner, sizeof *to * (size_t)inner);
    return slices;
}

const int64_t *mw_table_rows(MwArena *arena, const MwTable *table, int dim)
{
    int64_t outer = mw_table_outer(table, dim), inner = mw_table_inner(table, dim);
    int64_t size = table->dims[dim];
    if (inner == 1)
        return table->at;
    int64_t *rows = MW_NEW(arena, int64_t, table->count);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t s = 0; s < size; s++)
            for (int64_t k = 0; k < inner; k++)
                rows[(i * inner + k) * size + s] = table->at[(i * size + s) * inner + k];
    return rows;
}
