/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Look-ups of all elements of a matrix in order, by indices that are computed: what exporters make
 * of x[:, None, None, :], which is a reshape. */
#include "frontend/onnx/match.h"
#include "frontend/onnx/operators.h"

#include <math.h>
#include <string.h>

/* Index d of constant indices [.., depth]. */
static MwOnnxValue *index_of_constant(MwOnnxImport *import, const MwOnnxValue *ids, int d)
{
    const MwOnnxTensor *from = ids->constant;
    MwOnnxTensor *tensor = mw_onnx_tensor_new(import->arena, from->type, from->rank - 1, from->dim);
    const int64_t depth = from->dim[from->rank - 1];
    for (int64_t i = 0; i < tensor->count; i++)
        mw_element_put_integer(from->type, (void *)(uintptr_t)tensor->data, i,
                               mw_onnx_integer(from, i * depth + d));
    MwOnnxValue *value = MW_NEW(import->arena, MwOnnxValue, 1);
    value->state = MW_ONNX_KNOWN;
    value->constant = tensor;
    value->shape = ids->shape;
    value->shape.rank--;
    return value;
}

/* Index d of indices that are joined of several, each stretched to one shape. */
static MwOnnxValue *index_of(MwOnnxImport *import, const MwOnnxValue *ids, int d)
{
    if (ids->constant)
        return ids->constant->symbolic ? NULL : index_of_constant(import, ids, d);
    const MwOnnxNode *join = mw_onnx_made_by(ids, "Concat");
    const MwOnnxNode *last =
        join && d < join->input_count ? mw_onnx_made_by(join->inputs[d], "Unsqueeze") : NULL;
    if (!last)
        return NULL;
    const MwOnnxNode *stretch = mw_onnx_made_by(last->inputs[0], "Expand");
    MwOnnxValue *value = stretch ? stretch->inputs[0] : last->inputs[0];
    return value->shape.rank == ids->shape.rank - 1 ? value : NULL;
}

/* Whether constant indices name the places along the dimension of a stretched index. */
static bool names_places(const MwOnnxValue *index, const MwOnnxDim *size, const MwOnnxShape *shape,
                         int *axis)
{
    *axis = mw_onnx_counts_along(index, size);
    if (*axis != -2 || !index->constant || index->constant->symbolic)
        return *axis != -2;
    /* stretched already: the same along all dimensions but one */
    const MwOnnxTensor *tensor = index->constant;
    for (int a = 0; a < tensor->rank; a++) {
        int64_t stride = 1, wrong = 0;
        for (int i = a + 1; i < tensor->rank; i++)
            stride *= tensor->dim[i];
        for (int64_t i = 0; i < tensor->count; i++)
            wrong += mw_onnx_integer(tensor, i) != i / stride % tensor->dim[a];
        if (wrong == 0 && mw_onnx_dim_equal(&shape->dim[a], size)) {
            *axis = a;
            return true;
        }
    }
    return false;
}

/* Sets result 0 to the matrix with dimensions of size 1 between and around its own, which are
 * `axis` of the result. */
static bool set_spread(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxValue *x,
                       const MwOnnxShape *shape, const int axis[2])
{
    mw_onnx_set(import, node, 0, shape, mw_onnx_reshape(import, mw_onnx_term(import, x), shape),
                NULL);
    if (!x->stretched || !node->outputs[0])
        return true;
    MwOnnxTensor *stretched = mw_arena_dup(import->arena, x->stretched, sizeof *stretched);
    stretched->rank = shape->rank;
    for (int i = 0; i < shape->rank; i++)
        stretched->dim[i] = i == axis[0]   ? x->stretched->dim[0]
                            : i == axis[1] ? x->stretched->dim[1]
                                           : 1;
    node->outputs[0]->stretched = stretched;
    return true;
}

/* Whether the dimensions of a shape are those of a matrix, at `axis`, and of size 1. */
static bool spreads(const MwOnnxShape *shape, const MwOnnxShape *matrix, const int axis[2])
{
    if (axis[0] >= 0 && axis[1] >= 0 && axis[0] >= axis[1])
        return false;
    for (int i = 0; i < shape->rank; i++)
        if (i != axis[0] && i != axis[1] && !mw_onnx_dim_is(&shape->dim[i], 1))
            return false;
    for (int d = 0; d < 2; d++)
        if (axis[d] >= 0 ? !mw_onnx_dim_equal(&shape->dim[axis[d]], &matrix->dim[d])
                         : !mw_onnx_dim_is(&matrix->dim[d], 1))
            return false;
    return true;
}

bool mw_onnx_gather_nd(MwOnnxImport *import, const MwOnnxNode *node)
{
    MwOnnxValue *x = node->inputs[0], *ids = node->inputs[1];
    MwOnnxShape shape = ids->shape;
    int axis[2] = {-1, -1};
    bool good = x->shape.rank == 2 && shape.rank >= 2 && mw_type_is_index(shape.type) &&
                mw_onnx_dim_is(&shape.dim[shape.rank - 1], 2) &&
                mw_onnx_int_of(node, "batch_dims", 0) == 0;
    shape.rank--;
    shape.type = x->shape.type;
    for (int d = 0; good && d < 2; d++) {
        const MwOnnxValue *index = index_of(import, ids, d);
        good = index && names_places(index, &x->shape.dim[d], &shape, &axis[d]);
    }
    if (!good || !spreads(&shape, &x->shape, axis))
        return mw_onnx_refuse(import, node, "elements at places that are computed");
    return set_spread(import, node, x, &shape, axis);
}

/* Whether a value counts by steps of `step` along a dimension of `size` elements. */
static bool counts_by(MwOnnxValue *value, const MwOnnxDim *size, const MwOnnxDim *step, int *axis)
{
    double number;
    const MwOnnxNode *product = mw_onnx_made_by(value, "Mul");
    MwOnnxValue *count = product ? mw_onnx_with_number(product, &number) : NULL;
    if (count && fabs(number) < 0x1p53 && mw_onnx_dim_is(step, (int64_t)number)) {
        *axis = mw_onnx_counts_along(count, size);
        return *axis != -2;
    }
    *axis = -1; /* all rows are one */
    return mw_onnx_constant_number(value, &number) && number == 0 && mw_onnx_dim_is(size, 1);
}

/* gather(reshape(x, [rows * columns, ..]), column + columns * row) */
bool mw_onnx_match_spread(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwOnnxNode *flat = mw_onnx_made_by(node->inputs[0], "Flatten");
    if (!flat)
        flat = mw_onnx_made_by(node->inputs[0], "Reshape");
    MwOnnxValue *x = flat ? flat->inputs[0] : NULL, *ids = node->inputs[1];
    MwOnnxShape shape = ids->shape;
    MwOnnxDim all;
    if (!x || x->shape.rank != 2 || mw_onnx_int_of(node, "axis", 0) != 0 ||
        !mw_type_is_index(ids->shape.type) ||
        shape.rank + node->inputs[0]->shape.rank - 1 > MW_MAX_RANK ||
        !mw_onnx_dim_mul(&x->shape.dim[0], &x->shape.dim[1], &all) ||
        !mw_onnx_dim_equal(&node->inputs[0]->shape.dim[0], &all))
        return false;
    shape.type = x->shape.type;
    for (int i = 1; i < node->inputs[0]->shape.rank; i++)
        shape.dim[shape.rank++] = mw_onnx_dim(1);
    int axis[2] = {-1, -1};
    const MwOnnxNode *sum = mw_onnx_made_by(ids, "Add");
    for (int i = 0; sum && i < 2; i++) {
        axis[1] = mw_onnx_counts_along(sum->inputs[i], &x->shape.dim[1]);
        if (axis[1] != -2 &&
            counts_by(sum->inputs[1 - i], &x->shape.dim[0], &x->shape.dim[1], &axis[0]) &&
            spreads(&shape, &x->shape, axis))
            return set_spread(import, node, x, &shape, axis);
    }
    axis[0] = -1; /* one row */
    axis[1] = mw_onnx_counts_along(ids, &all);
    return axis[1] != -2 && mw_onnx_dim_is(&x->shape.dim[0], 1) &&
           spreads(&shape, &x->shape, axis) && set_spread(import, node, x, &shape, axis);
}
