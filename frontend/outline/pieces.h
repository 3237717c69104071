/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions of a body while it is written (lines.c). */
#ifndef MW_FRONTEND_OUTLINE_PIECES_H
#define MW_FRONTEND_OUTLINE_PIECES_H

#include "frontend/outline/outliner.h"
#include "frontend/syntax/make.h"

/* An expression, the values that it names, and what else matters where it may stand. */
typedef struct MwPiece MwPiece;
struct MwPiece {
    int value; /* that it computes; -1: several, or none */
    MwExpr *expr;
    MwValueRefs refs;
    const char *scope; /* that its one call of a block says; NULL: none does */
    int calls;         /* of blocks */
    bool is_random;
    const char *wanted; /* MwOutlineLine */
    bool is_step;
};

/* Where the writing is: in a body, or the body of a repeat in it. */
typedef struct {
    MwOutliner *outliner;
    MwOutlineBody *body;
    MwOutlineLines declarations, lines;
    int waiting_random; /* a value whose piece draws random numbers; -1: none */
} MwLineWriter;

/* A unit whose items are being written into a body. */
typedef struct {
    const MwModuleUnit *unit;
    const MwClass *class;
    MwExpr *const *args; /* of the class */
    const char *prefix;  /* of scopes and weights: "" or "transformer." */
    int constant;        /* the next constant of the class */
} MwLinePlace;

/* An expression of an operation being copied with other values and constants in it. */
typedef struct {
    MwLineWriter *writer;
    MwLinePlace *place;
    const MwFlatOp *op;
    int name, constant; /* next of the operation */
    MwPiece *piece;     /* that the copy is for */
} MwExprCopy;

/* A NAME. */
MwExpr *mw_new_name_expr(MwArena *arena, const char *name);

/* Copies an expression, which may be NULL; the elements of a list; the values of arguments. */
MwExpr *mw_copy_expr(MwExprCopy *copy, const MwExpr *from);
void mw_copy_list(MwExprCopy *copy, MwExprs *list);
void mw_copy_args(MwExprCopy *copy, MwArgs *args);

/* Whether calls of the function are written with an operator, as add(x, y) is x + y. */
bool mw_function_is_operator(const char *name);

/* The value as an operand of the piece: its own piece, which becomes part of it, or its name. */
MwExpr *mw_piece_operand(MwLineWriter *writer, MwPiece *piece, int value);
/* Constant `number` of the class, which is a parameter of it or itself. */
MwExpr *mw_place_constant(const MwLineWriter *writer, const MwLinePlace *place, int number,
                          const MwFlatConstant *constant);

/* How many calls stand in one another, and how long the expression is as text. */
int mw_expr_nesting(const MwExpr *expr);
int mw_expr_columns(MwArena *arena, const MwExpr *expr);

#endif
