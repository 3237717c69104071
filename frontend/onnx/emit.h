/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model as it grows: terms of the language, each computed from those before it, and the values
 * of ONNX that they stand for.
 *
 * A term computes a tensor whose dimensions may stand in another order than those of the value:
 * images have their channels last in the language and second in ONNX, and a transposed tensor is
 * the tensor itself in another order. An operator takes its operands in the order that suits it,
 * so that orders change by `transpose` only where it matters. */
#ifndef MW_FRONTEND_ONNX_EMIT_H
#define MW_FRONTEND_ONNX_EMIT_H

#include "frontend/onnx/graph.h"

enum { MW_ONNX_MAX_OPERANDS = 64 };

struct MwOnnxTerm {
    enum {
        MW_ONNX_TERM_INPUT,
        MW_ONNX_TERM_WEIGHT,
        MW_ONNX_TERM_STATE,
        MW_ONNX_TERM_NUMBER, /* `text` is a number, which has the type of what stands beside it */
        MW_ONNX_TERM_VALUE,
        MW_ONNX_TERM_PART, /* result `part` of operand 0, which has several */
    } kind;
    MwOnnxShape shape;
    const char *text; /* VALUE: the expression; $0 is an operand, #0 one that stands beside an
                         infix operator */
    int operand_count;
    MwOnnxTerm **operands;
    int part, parts;           /* PART; VALUE: how many results it has */
    const char *const *locals; /* VALUE: names of statements, @0, @1, .. of the text, of which the
                                   first are its results; NULL: the text is an expression */
    int local_count;
    const char *module, *local; /* VALUE, PART: what its name is made of */
    const char *name;           /* INPUT, WEIGHT, STATE; of others while printing */
    const MwOnnxTensor *tensor; /* WEIGHT, STATE: its elements */
    bool whole;                 /* INPUT: has no batch */
    int uses, size;             /* while printing: by how many terms, and how many operators */
    bool weighted;              /* while printing: depends on a weight */
    bool alone;                 /* has a statement of its own, whatever its size */
};

/* A node, or what of it, the language has no equal of. */
typedef struct {
    const MwOnnxNode *node;
    const char *why;
} MwOnnxRefusal;

typedef struct {
    MwOnnxGraph *graph;
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    const MwOnnxNode *node; /* which is translated */
    const char *local;      /* the last part of names of its values */
    MW_VEC(MwOnnxTerm *) terms;
    MW_VEC(MwOnnxRefusal) refusals;
    MwNameMap names;                   /* of the model so far */
    bool fixes_symbol;                 /* a symbol was fixed: all must be done again */
    int64_t folded_bytes, folded_work; /* of constants computed so far: bytes, elements read */
} MwOnnxImport;

/* ---- Failing ---- */

/* Notes why the node cannot be translated; always false. */
bool mw_onnx_refuse(MwOnnxImport *import, const MwOnnxNode *node, const char *format, ...)
    MW_PRINTF(3, 4);
/* Notes that the number of a symbolic size decides something. */
void mw_onnx_fix(MwOnnxImport *import, const MwOnnxDim *dim);

/* ---- Terms ---- */

MwOnnxShape mw_onnx_shape_new(MwType type, int rank, const MwOnnxDim *dim);
/* A term of `count` operands, in a statement of its own or in that of its user. */
MwOnnxTerm *mw_onnx_emit(MwOnnxImport *import, const MwOnnxShape *shape, const char *text,
                         MwOnnxTerm *const *operands, int count);
MwOnnxTerm *mw_onnx_emit1(MwOnnxImport *import, const MwOnnxShape *shape, const char *text,
                          MwOnnxTerm *a);
MwOnnxTerm *mw_onnx_emit2(MwOnnxImport *import, const MwOnnxShape *shape, const char *text,
                          MwOnnxTerm *a, MwOnnxTerm *b);
/* Result `part` of a term with several; `parts` of the term counts them. */
MwOnnxTerm *mw_onnx_emit_part(MwOnnxImport *import, const MwOnnxShape *shape, MwOnnxTerm *whole,
                              int part);
MwOnnxTerm *mw_onnx_emit_number(MwOnnxImport *import, MwType type, double value);
/* A weight with these elements, of the module of the node. */
MwOnnxTerm *mw_onnx_emit_weight(MwOnnxImport *import, const MwOnnxTensor *tensor,
                                const char *local);
/* A state with these elements, named by the node. */
MwOnnxTerm *mw_onnx_emit_state(MwOnnxImport *import, const MwOnnxTensor *tensor, const char *local);

/* `name`, or with the least number that makes it new in the model; nothing else gets it then. */
const char *mw_onnx_unique_name(MwOnnxImport *import, const char *name);
/* The same of other names than those of the model. */
const char *mw_onnx_unique_among(MwOnnxImport *import, MwNameMap *names, const char *name);
/* A text in the arena, for expressions. */
const char *mw_onnx_text(MwOnnxImport *import, const char *format, ...) MW_PRINTF(2, 3);
/* "batch, 12, 64" */
const char *mw_onnx_dims_text(MwOnnxImport *import, int rank, const MwOnnxDim *dim);
const char *mw_onnx_dim_text(MwOnnxImport *import, const MwOnnxDim *dim);
/* The shortest text that is read as the same number of the type. */
const char *mw_onnx_number_text(MwOnnxImport *import, MwType type, double value);

/* ---- Values ---- */

/* What the terms of operands are. A term in the order of the value; and one whose dimension i is
 * dimension order[i] of the value. */
MwOnnxTerm *mw_onnx_term(MwOnnxImport *import, MwOnnxValue *value);
MwOnnxTerm *mw_onnx_term_in(MwOnnxImport *import, MwOnnxValue *value, const int8_t *order);
/* The term in whatever order it has, value->order. */
MwOnnxTerm *mw_onnx_term_as_is(MwOnnxImport *import, MwOnnxValue *value);
/* A term with the same elements in another shape. */
MwOnnxTerm *mw_onnx_reshape(MwOnnxImport *import, MwOnnxTerm *term, const MwOnnxShape *shape);
/* Whether two orders of the sizes give the same sequence of elements, since only dimensions of
 * size 1 change place. */
bool mw_onnx_same_elements(int rank, const MwOnnxDim *dim, const int8_t *order);

/* Says that output i of the node is the term; `shape` is that of the value. `order` NULL: as it
 * stands. Always true. */
bool mw_onnx_set(MwOnnxImport *import, const MwOnnxNode *node, int i, const MwOnnxShape *shape,
                 MwOnnxTerm *term, const int8_t *order);
/* Says that output i of the node is another value. */
bool mw_onnx_set_same(MwOnnxImport *import, const MwOnnxNode *node, int i, MwOnnxValue *value);
/* Says that it is a constant. */
bool mw_onnx_set_constant(MwOnnxImport *import, const MwOnnxNode *node, int i,
                          const MwOnnxTensor *tensor);

/* Whether all elements are one number, which the language can write. */
bool mw_onnx_is_number(const MwOnnxTensor *tensor);
/* The one number that a constant is made of. */
bool mw_onnx_constant_number(const MwOnnxValue *value, double *number);
/* Its whole numbers, at most `room`, as sizes; -1 if it is no constant of so many. */
int mw_onnx_constant_dims(const MwOnnxValue *value, MwOnnxDim *dims, int room);
/* The same where they may not depend on symbols, which it fixes. */
int mw_onnx_constant_ints(MwOnnxImport *import, const MwOnnxValue *value, int64_t *numbers,
                          int room);

#endif
