/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes that operators of ONNX ask for, from their attributes and constant operands. Each function
 * notes a refusal and gives false where they are not known or not possible. */
#ifndef MW_FRONTEND_ONNX_SHAPES_H
#define MW_FRONTEND_ONNX_SHAPES_H

#include "frontend/onnx/emit.h"

/* What Reshape, Flatten, Squeeze and Unsqueeze make of the shape of their first operand. */
bool mw_onnx_shape_target(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxShape *target);

/* The shape that two broadcast to, with the type of `a`. */
bool mw_onnx_shape_broadcast(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *a,
                             const MwOnnxShape *b, MwOnnxShape *result);

/* Whether the sizes are equal for all symbols. Where only their defaults are, it fixes these. */
bool mw_onnx_shape_same_dim(MwOnnxImport *import, const MwOnnxDim *a, const MwOnnxDim *b);

/* The product of all sizes from dimension `begin` up to, not including, `end`. */
bool mw_onnx_shape_product(const MwOnnxShape *shape, int begin, int end, MwOnnxDim *product);

/* An axis that counts from the end where it is negative. */
bool mw_onnx_shape_axis(MwOnnxImport *import, const MwOnnxNode *node, int64_t given, int rank,
                        int *axis);
/* The axes that a node has as an attribute, or as operand `operand`; -1: all, or none were
 * given; -2 after a refusal. */
int mw_onnx_shape_axes(MwOnnxImport *import, const MwOnnxNode *node, int operand, int rank,
                       int *axes);

/* Which dimensions a reduction is over: its axes; all where it has none, unless it says that these
 * are none. */
bool mw_onnx_shape_reduced(MwOnnxImport *import, const MwOnnxNode *node, int rank, bool *reduces);

/* What Slice takes of a dimension: from `begin` on, `count` elements, every `step`-th, which may be
 * negative. */
typedef struct {
    MwOnnxDim begin, count;
    int64_t step;
} MwOnnxRange;

/* Of each dimension of its operand. */
bool mw_onnx_shape_slice(MwOnnxImport *import, const MwOnnxNode *node,
                         MwOnnxRange range[MW_MAX_RANK]);

/* The type that Cast, ConstantOfShape and others name. */
bool mw_onnx_shape_type(MwOnnxImport *import, const MwOnnxNode *node, const char *attribute,
                        MwType *type);

#endif
