/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A flat model as operations on values, each in the module that its name says.
 *
 * The module of a value is its name without the last component; that of a name without dots is the
 * model itself, module 0. What an operation takes and gives is numbered, so that names no longer
 * matter; its shape is what equal operations have in common: all but values and constants. */
#ifndef MW_FRONTEND_OUTLINE_FLAT_H
#define MW_FRONTEND_OUTLINE_FLAT_H

#include "frontend/syntax/ast.h"
#include "frontend/terms/name_map.h"

typedef MW_VEC(int) MwInts;

typedef struct {
    const char *name; /* in the flat model; interned */
    int op;           /* that gives it */
    int last_use;     /* the position (MwFlatOp) of the last operation that takes it; -1: none */
} MwFlatValue;

/* A constant in an expression: an INT, FLOAT or BOOL, and what it is, as far as its place says:
 * "eps", "outputs". */
typedef struct {
    const MwExpr *expr;
    const char *role; /* NULL: unknown */
    bool is_batch;    /* it is the size of the batch: mw_flat_find_batch */
} MwFlatConstant;

typedef MW_VEC(MwFlatConstant) MwFlatConstants;

#define MW_FLAT_SHAPE "shape" /* the role of the first element of a shape */

typedef struct {
    const MwStatement *statement;
    int module;
    int first_value, value_count;
    MwInts uses;               /* values, as often and in the order in which its text has them */
    MwInts names;              /* for each name in its expressions the value; -1: it is a word */
    MwFlatConstants constants; /* in the order of its text */
    const char *shape;         /* interned */
    int after;                 /* an operation that must stay before it; -1: none */
    bool is_random;            /* it draws random numbers, which depend on the order of draws */
    int position;              /* where it stands in the outline (units.c) */
} MwFlatOp;

typedef struct {
    const char *path; /* interned; "" for the model */
    int parent;       /* -1: none */
    MwInts children, ops;
    bool has_ops; /* it or a module below has operations that are no declarations */
} MwFlatModule;

typedef struct {
    MwArena *arena;
    MwInterner *interner;
    const char *name;
    MW_VEC(MwFlatValue) values;
    MW_VEC(MwFlatOp) ops;
    MW_VEC(MwFlatModule) modules;
    MwNameMap words; /* names that stand in expressions and are no values: sizes, types */
} MwFlat;

/* Reads the model among the items. False if it is not flat: it has blocks, repeats, scans or
 * choices, or imports, or annotations of dumps. */
bool mw_flat_read(MwFlat *flat, const MwItems *items);
/* Sets the roles of the dimensions of matrices, which mw_flat_read calls by their place (roles.c).
 * */
void mw_flat_find_roles(MwFlat *flat);
/* Marks the constants that are the size of the batch, as far as their places say: the first
 * dimension of inputs, if it is the same of all, and of shapes. Returns the size; 0: there is no
 * such one. */
int64_t mw_flat_find_batch(MwFlat *flat);

/* Whether the value of an option of `train` is a word of its own, not a name to look up. */
bool mw_flat_is_word_option(const char *key);

static inline bool mw_flat_is_declaration(const MwFlatOp *op)
{
    const MwStatementKind kind = op->statement->kind;
    return kind == MW_STATEMENT_INPUT || kind == MW_STATEMENT_WEIGHT || kind == MW_STATEMENT_STATE;
}

#endif
