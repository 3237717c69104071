/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statements of a body before its values have names. */
#ifndef MW_FRONTEND_OUTLINE_OUTLINER_H
#define MW_FRONTEND_OUTLINE_OUTLINER_H

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
    MwNameMap names; /* that values may not have: of weights and parameters -> last suffix */
} MwOutlineBody;

typedef struct {
    MwClasses *classes;
    MwFlat *flat;
    MwArena *arena;
    MwInterner *interner;
    MwItems sizes;            /* counts of repeats */
    const char *batch;        /* the size of the batch */
    MwNameMap taken;          /* names that no value may have: sizes and words */
    MwNameMap file_names;     /* of blocks, which no size or value should have besides */
    MwNameMap size_suffixes;  /* of counts of repeats, by what is repeated */
    int *uses;                /* [values] in the body being written */
    struct MwPiece **pending; /* [values] expressions that their one use will hold (lines.c) */
    struct MwNamed *named;    /* [values] (name.c) */
} MwOutliner;

#endif
