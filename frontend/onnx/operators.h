/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operators of ONNX, of ops.def: what translates each, and what computes it from constants. */
#ifndef MW_FRONTEND_ONNX_OPERATORS_H
#define MW_FRONTEND_ONNX_OPERATORS_H

#include "frontend/onnx/fold.h"

/* Gives the results of a node their terms. All operands are known, and as many as the operator
 * needs are there. False after a refusal. */
typedef bool (*MwOnnxTranslate)(MwOnnxImport *import, const MwOnnxNode *node);

typedef struct {
    const char *name;
    int operands; /* which must be there */
    MwOnnxTranslate translate;
    MwOnnxFold fold;  /* NULL: none */
    const char *text; /* of element-wise operators: the expression */
    const char *note; /* for docs/import.md */
} MwOnnxOperator;

/* NULL: not known. `name` is any text. */
const MwOnnxOperator *mw_onnx_operator(const char *name);

#define OP(name, operands, translate, fold, text, note)                                            \
    bool mw_onnx_##translate(MwOnnxImport *import, const MwOnnxNode *node);
#include "frontend/onnx/ops.def"

/* Patterns: each tries to recognise what ends in this node, and translates it; false: it is not
 * that. */
#define PATTERN(op, name, note)                                                                    \
    bool mw_onnx_match_##name(MwOnnxImport *import, const MwOnnxNode *node);
#include "frontend/onnx/patterns.def"

/* Translates the node by the first pattern that ends in it, if there is one. */
bool mw_onnx_match(MwOnnxImport *import, const MwOnnxNode *node);

#endif
