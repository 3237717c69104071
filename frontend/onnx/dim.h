/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of tensors, which may depend on the sizes of the model: a dimension is a polynomial with
 * whole coefficients over symbols (`batch`, `seq`), and the value that this has where each symbol
 * has its default. So `batch * seq`, which a reshape computes from the shape of another tensor,
 * stays that in the model. */
#ifndef MW_FRONTEND_ONNX_DIM_H
#define MW_FRONTEND_ONNX_DIM_H

#include "base/text.h"

enum { MW_ONNX_MAX_SYMBOLS = 6, MW_ONNX_MAX_TERMS = 4 };

/* coefficient * symbol[0] ** power[0] * symbol[1] ** power[1] ... */
typedef struct {
    int64_t coefficient; /* not 0 */
    uint8_t power[MW_ONNX_MAX_SYMBOLS];
} MwOnnxMonomial;

/* The sum of the terms, which are ordered by their powers, the greatest first. */
typedef struct {
    int64_t value;
    int count;
    MwOnnxMonomial term[MW_ONNX_MAX_TERMS];
} MwOnnxDim;

MwOnnxDim mw_onnx_dim(int64_t value);
/* The symbol of an index, with its default. */
MwOnnxDim mw_onnx_dim_symbol(int index, int64_t value);

bool mw_onnx_dim_is_constant(const MwOnnxDim *dim);
bool mw_onnx_dim_is(const MwOnnxDim *dim, int64_t value); /* the constant `value` */
bool mw_onnx_dim_equal(const MwOnnxDim *a, const MwOnnxDim *b);
/* Whether no default of the symbols, which are 1 or more, makes it less than 1. */
bool mw_onnx_dim_is_positive(const MwOnnxDim *dim);

/* Each gives false where the result has too many terms or does not fit in 62 bits. */
bool mw_onnx_dim_add(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result);
bool mw_onnx_dim_sub(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result);
bool mw_onnx_dim_mul(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result);
/* The quotient, if it is one for all values of the symbols: b has one term. */
bool mw_onnx_dim_div(const MwOnnxDim *a, const MwOnnxDim *b, MwOnnxDim *result);

/* Adds the expression in the language; `names` are those of the symbols. */
void mw_onnx_dim_print(MwText *text, const MwOnnxDim *dim, const char *const *names);

#endif
