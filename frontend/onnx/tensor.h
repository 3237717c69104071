/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tensors whose elements are known: initializers, constants, and what is computed from them. */
#ifndef MW_FRONTEND_ONNX_TENSOR_H
#define MW_FRONTEND_ONNX_TENSOR_H

#include "base/diag.h"
#include "base/element.h"
#include "base/onnx/onnx.pb-c.h"
#include "frontend/onnx/dim.h"

/* Invariant: `count` is the product of the sizes, and `data` has so many elements, row-major. A
 * size may be 0. */
typedef struct {
    MwType type;
    int rank;
    int64_t dim[MW_MAX_RANK];
    int64_t count;
    const void *data;
    const MwOnnxDim *symbolic; /* of each element, where it may depend on symbols; else NULL */
} MwOnnxTensor;

/* Numbers of types of ONNX whose elements longer integers stand for. */
enum { MW_ONNX_UINT16 = 4, MW_ONNX_INT16 = 5, MW_ONNX_UINT32 = 12, MW_ONNX_UINT64 = 13 };

/* A tensor of this shape with zeros. The product of the sizes must fit. */
MwOnnxTensor *mw_onnx_tensor_new(MwArena *arena, MwType type, int rank, const int64_t *dim);

/* The product of the sizes. False if one is negative, or it is more than 2^40. */
bool mw_onnx_count(int rank, const int64_t *dim, int64_t *count);

/* The type that stands for one of ONNX's (TensorProto.DataType); false if there is none. Integers
 * of 16 and 32 bits without a sign become longer ones, doubles f32. */
bool mw_onnx_type(int32_t onnx_type, MwType *type);
/* "FLOAT", "STRING". */
const char *mw_onnx_type_name(int32_t onnx_type);

/* What a tensor of a file holds. NULL after an error, which names it `what`. `path` is that of the
 * file, in whose folder external data lie. */
const MwOnnxTensor *mw_onnx_tensor_read(MwArena *arena, const MwOnnx__TensorProto *proto,
                                        const char *path, const char *what, MwDiags *diags);

static inline double mw_onnx_number(const MwOnnxTensor *tensor, int64_t i)
{
    return mw_element_get(tensor->type, tensor->data, i);
}

/* Of a tensor of integers or bools. */
static inline int64_t mw_onnx_integer(const MwOnnxTensor *tensor, int64_t i)
{
    return mw_element_integer(tensor->type, tensor->data, i);
}

/* Whether all elements are the same number. */
bool mw_onnx_is_uniform(const MwOnnxTensor *tensor);

/* A tensor with another order of dimensions: dimension i of the result is `order[i]`. */
const MwOnnxTensor *mw_onnx_tensor_permute(MwArena *arena, const MwOnnxTensor *tensor,
                                           const int8_t *order);

#endif
