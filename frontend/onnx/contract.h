/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products of matrices. */
#ifndef MW_FRONTEND_ONNX_CONTRACT_H
#define MW_FRONTEND_ONNX_CONTRACT_H

#include "frontend/onnx/emit.h"

/* The product of two values over the last dimension of `a` and the last but one of `b`, which
 * `transposed` exchanges with the last. Each is read in the order that it has. Returns NULL after a
 * refusal; `shape` is that of the product, and `order` the order of the term: that of `a` where `b`
 * is a matrix. */
MwOnnxTerm *mw_onnx_product(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *const ab[2],
                            bool transposed, MwOnnxShape *shape, int8_t *order);

/* Sets result 0 of `node` to alpha * a @ b + beta * c as `gemm` says, with `a` of any rank in the
 * place of its first operand. */
bool mw_onnx_gemm_of(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxNode *gemm,
                     MwOnnxValue *a);

#endif
