/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statements of a body before its values have names. */
#ifndef MW_FRONTEND_OUTLINE_LINES_H
#define MW_FRONTEND_OUTLINE_LINES_H

#include "frontend/outline/classes.h"

/* A NAME in an expression that is to be the name of a value. */
typedef struct {
    MwExpr *expr;
    int value;
} MwValueRef;

typedef MW_VEC(MwValueRef) MwValueRefs;

typedef struct MwOutlineLine MwOutlineLine;
typedef MW_VEC(MwOutlineLine) MwOutlineLines;

struct MwOutlineLine {
    MwStatement *statement;
    MwValueRefs refs;     /* of its expressions; of a REPEAT none, its body has them */
    MwInts results;       /* of LET: the values of its targets */
    const char *wanted;   /* what the first result would best be called, or of TRAIN the loss is
                           * called; NULL: as in the flat model */
    bool is_step;         /* a call of a numbered module: its result replaces what it takes */
    MwOutlineLines *body; /* REPEAT */
    const MwRun *run;
    const MwModuleUnit *first, *last; /* iterations */
};

/* A block, or the model. */
typedef struct {
    const MwModuleUnit *unit;
    MwValueRefs declared; /* weights, with their names, of all of its lists of lines */
    MwOutlineLines lines;
    MW_VEC(const char *) names; /* that its text has, and values may not: weights, parameters */
} MwOutlineBody;

typedef struct {
    MwClasses *classes;
    MwFlat *flat;
    MwArena *arena;
    MwInterner *interner;
    MwItems sizes;            /* counts of repeats */
    const char *batch;        /* the size of the batch */
    MwNameMap taken;          /* names that no value may have: sizes and words */
    MwNameMap file_names;     /* of blocks, which no size should have besides */
    int *uses;                /* [values] in the body being written */
    struct MwPiece **pending; /* [values] expressions that their one use will hold (lines.c) */
    struct MwNamed *named;    /* [values] (name.c) */
} MwOutliner;

/* Writes the body of a unit. `args` are the parameters of its class as expressions. */
void mw_lines_write(MwOutliner *outliner, const MwModuleUnit *unit, MwExpr *const *args,
                    MwOutlineBody *body);

struct MwNamed *mw_lines_new_names(MwArena *arena, int values);
/* Gives the values of a body names, from `parameters`, the names of the inputs of its unit, and
 * turns its lines into statements. */
void mw_lines_name(MwOutliner *outliner, MwOutlineBody *body, const char *const *parameters,
                   MwBody *statements);

/* What a value would best be called: the last component of its name in the flat model, without the
 * number at its end. */
const char *mw_value_word(const MwOutliner *outliner, int value);
/* `word`, or where no value can be called so another word. */
const char *mw_good_word(MwOutliner *outliner, const char *word);
/* Whether a body can use the name for a value. */
bool mw_outliner_is_free(MwOutliner *outliner, const char *name);

MwExpr *mw_new_expr(MwArena *arena, MwExprKind kind);
MwExpr *mw_new_name_expr(MwArena *arena, const char *name);

#endif
