/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computing what does not depend on the inputs of the model: shapes, masks, positions. */
#ifndef MW_FRONTEND_ONNX_FOLD_H
#define MW_FRONTEND_ONNX_FOLD_H

#include "frontend/onnx/emit.h"

/* What computes a node from constants: gives its only result, or NULL where it cannot. */
typedef const MwOnnxTensor *(*MwOnnxFold)(MwOnnxImport *import, const MwOnnxNode *node);

/* Tries to compute a node all of whose operands are constants and no weights, within bounds of
 * memory. True if it did. */
bool mw_onnx_fold(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxFold fold);

/* Notes, after a node was translated, what is known of its result where its operands are constants
 * that were stretched along dimensions of symbolic sizes, as positions of each row of a batch are.
 */
void mw_onnx_fold_stretched(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxFold fold);

/* A new tensor of a shape; NULL where it would be too large. */
MwOnnxTensor *mw_onnx_fold_new(MwOnnxImport *import, MwType type, int rank, const int64_t *dim);

/* ---- Each operator that can be computed: see ops.def ---- */

const MwOnnxTensor *mw_onnx_fold_unary(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_binary(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_where(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_cast(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_range(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_reduce(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_cumsum(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_move(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_concat(MwOnnxImport *import, const MwOnnxNode *node);
const MwOnnxTensor *mw_onnx_fold_fill(MwOnnxImport *import, const MwOnnxNode *node);

#endif
