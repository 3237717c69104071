/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interned tables of integers, and the memoisation of operations on them.
 *
 * A table is a dense array with 1 to MW_TABLE_ARITY dimensions: the cost vector of a node, the cost
 * matrix of an edge, a cost function of several nodes, or a list of strategies. Tables of equal
 * content are one object, so that equal tables have equal pointers. Tables are numbered in order of
 * creation, and their `id`s form the keys under which results are remembered. An operation on the
 * tables of identical layers is therefore computed once.
 *
 * All tables live in the arena given to mw_tables_new. A table is never changed. */
#ifndef MW_SOLVER_CORE_TABLE_H
#define MW_SOLVER_CORE_TABLE_H

#include "solver/solver.h"

#define MW_TABLE_ARITY 24

typedef struct {
    int id, arity;
    const int *dims;   /* [arity], each at least 1 */
    int64_t count;     /* product of dims */
    const int64_t *at; /* [count], row-major */
    /* Smallest and largest entry */
    int64_t least, greatest;
    bool separated; /* mw_separate is known to leave the table as it is (separate.h) */
} MwTable;

/* Makes tables in `arena`, with their entries (`at`) in the arena `contents`, which may outlive the
 * rest. */
MwTables *mw_tables_new_with_contents(MwArena *arena, MwArena *contents);
MwArena *mw_tables_arena(MwTables *tables);

/* Returns the table with this content. Copies `values` if the table is new. */
/* Entries computed so far, of all tables, with RECALL_ENTRIES for each key looked up. */
int64_t mw_tables_work(const MwTables *tables);

const MwTable *mw_table_intern(MwTables *tables, int arity, const int *dims, const int64_t *values);

/* Notes that mw_separate leaves the table as it is. */
void mw_table_mark_separated(const MwTable *table);

/* Returns room for `count` values, in which a caller builds a table to intern. The next call
 * overwrites it. */
int64_t *mw_tables_scratch(MwTables *tables, int64_t count);

/* Returns room for a key of `count` ints. The next call overwrites it. */
int *mw_tables_key(MwTables *tables, int count);

/* Returns what mw_tables_remember was given for this key of `count` ints, or NULL. A key begins
 * with the MwOperation and names everything that the result depends on. */
void *mw_tables_recall(MwTables *tables, const int *key, int count);
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
    MW_OPERATION_JOINT_DOMINANCE,
    MW_OPERATION_ELIMINATE,
    MW_OPERATION_SUBSTITUTE,
} MwOperation;

/* The functions below remember their results: a second call on the same tables costs a lookup. */

/* Adds costs entry by entry; the shapes are equal. A forbidden entry stays forbidden. */
const MwTable *mw_table_add(MwTables *tables, const MwTable *a, const MwTable *b);
/* Adds numbers entry by entry; a sum saturates at INT64_MAX. */
const MwTable *mw_table_sum(MwTables *tables, const MwTable *a, const MwTable *b);
/* Permutes the dimensions: dimension i of the result is dimension order[i] of `table`. */
const MwTable *mw_table_permute(MwTables *tables, const MwTable *table, const int *order);
/* Gathers along dimension `dim`: position i of the result is the old position list[i]. `list` has
 * arity 1. */
const MwTable *mw_table_select(MwTables *tables, const MwTable *table, int dim,
                               const MwTable *list);

/* Removes dimension `dim`, which has size 1. The result is not remembered: only the shape
 * changes. */
const MwTable *mw_table_squeeze(MwTables *tables, const MwTable *table, int dim);
/* Subtracts `amount` from every cost; forbidden costs stay forbidden. */
const MwTable *mw_table_lower(MwTables *tables, const MwTable *table, int64_t amount);
/* Subtracts `amount` from every number. */
const MwTable *mw_table_subtract(MwTables *tables, const MwTable *table, int64_t amount);

/* These return the entries with dimension `dim` moved to the front (slices: one run of entries per
 * index of `dim`) or to the back (rows: one run per tuple of the other dimensions). The result is
 * in `arena`, or is the table's own array if that has the wanted order. */
const int64_t *mw_table_slices(MwArena *arena, const MwTable *table, int dim);
const int64_t *mw_table_rows(MwArena *arena, const MwTable *table, int dim);

/* These return the product of the dimensions before (outer) and after (inner) `dim`. */
int64_t mw_table_outer(const MwTable *table, int dim);
int64_t mw_table_inner(const MwTable *table, int dim);

#endif
