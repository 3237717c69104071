/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interned tables of integers, and a memory of what was computed from them.
 *
 * A table is a dense array of 1 to MW_TABLE_ARITY dimensions (a cost vector of a node, a cost
 * matrix of an edge, a cost over several nodes, a list of strategies). Equal contents are one
 * object: equality is equality of pointers, and `id`s, given in order of creation, name tables in
 * the keys under which results are remembered. So identical layers cost one computation.
 *
 * Everything lives in the arena given to mw_tables_new and is never changed. */
#ifndef MW_SOLVER_CORE_TABLE_H
#define MW_SOLVER_CORE_TABLE_H

#include "base/arena.h"

#define MW_TABLE_ARITY 24

typedef struct {
    int id, arity;
    const int *dims;   /* [arity], each at least 1 */
    int64_t count;     /* product of dims */
    const int64_t *at; /* [count], row-major */
    int64_t least, greatest;
    bool separated; /* known to be what separation leaves of it: see separate.h */
} MwTable;

typedef struct MwTables MwTables;

MwTables *mw_tables_new(MwArena *arena);
/* Likewise, but what is in the tables, `at`, lies in `contents`, and may stay when the rest
 * goes. */
MwTables *mw_tables_new_apart(MwArena *arena, MwArena *contents);
MwArena *mw_tables_arena(MwTables *tables);

/* The table of this content; `values` is copied if it is new. */
const MwTable *mw_table_intern(MwTables *tables, int arity, const int *dims, const int64_t *values);

/* Notes that separation leaves the table as it is. */
void mw_table_mark_separated(const MwTable *table);

/* Room for `count` values, for building contents to intern; the next call overwrites it. */
int64_t *mw_tables_scratch(MwTables *tables, int64_t count);

/* Likewise for a key. */
int *mw_tables_key(MwTables *tables, int count);

/* What mw_tables_remember was given for this key of `count` ints, or NULL. A key begins with the
 * MwOperation and names all the result depends on. */
void *mw_tables_recall(const MwTables *tables, const int *key, int count);
void mw_tables_remember(MwTables *tables, const int *key, int count, void *result);

typedef enum {
    MW_OPERATION_ADD,
    MW_OPERATION_SUM,
    MW_OPERATION_PERMUTE,
    MW_OPERATION_SELECT,
    MW_OPERATION_RENUMBER,
    MW_OPERATION_REFINE,
    MW_OPERATION_SEPARATE,
    MW_OPERATION_DOMINANCE,
    MW_OPERATION_DOMINANCE_TOGETHER,
    MW_OPERATION_ELIMINATE,
    MW_OPERATION_DETERMINED,
} MwOperation;

/* The functions below are remembered: calling them again on the same tables costs a lookup. */

/* Costs added entry by entry; the shapes are equal. */
const MwTable *mw_table_add(MwTables *tables, const MwTable *a, const MwTable *b);
/* Numbers added entry by entry, at most INT64_MAX. */
const MwTable *mw_table_sum(MwTables *tables, const MwTable *a, const MwTable *b);
/* Dimension i of the result is dimension order[i] of `table`. */
const MwTable *mw_table_permute(MwTables *tables, const MwTable *table, const int *order);
/* Dimension `dim` indexed through `list` (arity 1): its position i is the old position list[i]. */
const MwTable *mw_table_select(MwTables *tables, const MwTable *table, int dim,
                               const MwTable *list);

/* Not remembered, being only a change of shape: without dimension `dim`, which is of size 1. */
const MwTable *mw_table_squeeze(MwTables *tables, const MwTable *table, int dim);
/* Every cost less `amount`; forbidden ones stay. */
const MwTable *mw_table_lower(MwTables *tables, const MwTable *table, int64_t amount);
/* Every number less `amount`. */
const MwTable *mw_table_subtract(MwTables *tables, const MwTable *table, int64_t amount);

/* The entries with dimension `dim` moved to the front (slices: one run per strategy) or to the back
 * (rows: one run per choice of the others). In `arena`, or the table's own if they lie so. */
const int64_t *mw_table_slices(MwArena *arena, const MwTable *table, int dim);
const int64_t *mw_table_rows(MwArena *arena, const MwTable *table, int dim);

/* Product of the dimensions before (outer) and after (inner) `dim`. */
int64_t mw_table_outer(const MwTable *table, int dim);
int64_t mw_table_inner(const MwTable *table, int dim);

#endif
