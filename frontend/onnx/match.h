/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking back from a value at the nodes that made it, for patterns. */
#ifndef MW_FRONTEND_ONNX_MATCH_H
#define MW_FRONTEND_ONNX_MATCH_H

#include "frontend/onnx/emit.h"

/* The node that makes the value, if it is of this operator, with all operands that it must have. */
const MwOnnxNode *mw_onnx_made_by(const MwOnnxValue *value, const char *op);
/* The same, where the value may have been cast between floats or copied since. */
const MwOnnxNode *mw_onnx_made_before_casts(const MwOnnxValue *value, const char *op);
/* The value before casts between floats and copies. */
MwOnnxValue *mw_onnx_before_casts(MwOnnxValue *value);
/* Of a node with two operands one of which is a number: the other. NULL: none is. */
MwOnnxValue *mw_onnx_with_number(const MwOnnxNode *node, double *number);
/* Whether a value counts 0, 1, 2, .. along one of its dimensions, which has `size` elements, and
 * has no other but of size 1: which. -1: the size is 1, and so are all. -2: it does not. */
int mw_onnx_counts_along(const MwOnnxValue *value, const MwOnnxDim *size);
/* Whether a node of two operands gives the shape of the value: no constant stretches it. */
bool mw_onnx_keeps_shape(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxValue *value);

#endif
