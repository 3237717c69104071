/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/shapes.h"

#include <string.h>

bool mw_onnx_shape_axis(MwOnnxImport *import, const MwOnnxNode *node, int64_t given, int rank,
                        int *axis)
{
    if (given < -rank || given >= rank)
        return mw_onnx_refuse(import, node, "axis %lld of %d dimensions", (long long)given, rank);
    *axis = (int)(given < 0 ? given + rank : given);
    return true;
}

int mw_onnx_shape_axes(MwOnnxImport *import, const MwOnnxNode *node, int operand, int rank,
                       int *axes)
{
    int64_t given[MW_MAX_RANK];
    int count;
    const MwOnnxValue *value = mw_onnx_input(node, operand);
    if (value) {
        count = mw_onnx_constant_ints(import, value, given, MW_MAX_RANK);
        if (count < 0)
            return mw_onnx_refuse(import, node, "axes that are computed") ? 0 : -2;
    } else {
        if (!mw_onnx_attribute(node, "axes"))
            return -1;
        count = mw_onnx_ints_of(node, "axes", given, MW_MAX_RANK);
        if (count < 0)
            return mw_onnx_refuse(import, node, "attribute axes") ? 0 : -2;
    }
    for (int i = 0; i < count; i++) {
        if (!mw_onnx_shape_axis(import, node, given[i], rank, &axes[i]))
            return -2;
        for (int k = 0; k < i; k++)
            if (axes[k] == axes[i])
                return mw_onnx_refuse(import, node, "one axis twice") ? 0 : -2;
    }
    return count;
}

bool mw_onnx_shape_reduced(MwOnnxImport *import, const MwOnnxNode *node, int rank, bool *reduces)
{
    int axes[MW_MAX_RANK];
    const int count = mw_onnx_shape_axes(import, node, 1, rank, axes);
    const bool all = count <= 0 && !mw_onnx_int_of(node, "noop_with_empty_axes", 0);
    for (int d = 0; d < rank; d++)
        reduces[d] = all;
    for (int i = 0; i < count; i++)
        reduces[axes[i]] = true;
    return count >= -1;
}

bool mw_onnx_shape_product(const MwOnnxShape *shape, int begin, int end, MwOnnxDim *product)
{
    *product = mw_onnx_dim(1);
    for (int i = begin; i < end; i++)
        if (!mw_onnx_dim_mul(product, &shape->dim[i], product))
            return false;
    return product->value < (int64_t)1 << 40;
}

bool mw_onnx_shape_same_dim(MwOnnxImport *import, const MwOnnxDim *a, const MwOnnxDim *b)
{
    if (mw_onnx_dim_equal(a, b))
        return true;
    if (a->value != b->value)
        return false;
    mw_onnx_fix(import, a);
    mw_onnx_fix(import, b);
    return true;
}

bool mw_onnx_shape_broadcast(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *a,
                             const MwOnnxShape *b, MwOnnxShape *result)
{
    const int rank = (int)mw_max(a->rank, b->rank);
    MwOnnxShape shape = {.type = a->type, .rank = rank};
    for (int i = 0; i < rank; i++) {
        const int at_a = i - (rank - a->rank), at_b = i - (rank - b->rank);
        const MwOnnxDim one = mw_onnx_dim(1);
        const MwOnnxDim *x = at_a >= 0 ? &a->dim[at_a] : &one;
        const MwOnnxDim *y = at_b >= 0 ? &b->dim[at_b] : &one;
        if (mw_onnx_dim_is(x, 1))
            shape.dim[i] = *y;
        else if (mw_onnx_dim_is(y, 1) || mw_onnx_dim_equal(x, y))
            shape.dim[i] = *x;
        else if (x->value == 1 || y->value == 1 || x->value == y->value) {
            mw_onnx_fix(import, x);
            mw_onnx_fix(import, y);
            shape.dim[i] = mw_onnx_dim(x->value == 1 ? y->value : x->value);
        } else {
            return mw_onnx_refuse(import, node, "sizes %lld and %lld do not broadcast",
                                  (long long)x->value, (long long)y->value);
        }
    }
    *result = shape;
    return true;
}

/* ---- Reshapes ---- */

static bool refuse_shape(MwOnnxImport *import, const MwOnnxNode *node)
{
    return mw_onnx_refuse(import, node, "a shape that does not follow from the sizes of inputs");
}

/* The sizes of operand 1, with 0 for a size of the operand and one -1 for what is left. */
static bool reshape_target(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *from,
                           MwOnnxShape *target)
{
    const bool zero_is_size = mw_onnx_int_of(node, "allowzero", 0) != 0;
    target->rank = mw_onnx_constant_dims(mw_onnx_input(node, 1), target->dim, MW_MAX_RANK);
    if (target->rank < 0)
        return refuse_shape(import, node);
    MwOnnxDim all, known = mw_onnx_dim(1);
    int left = -1;
    bool fits = mw_onnx_shape_product(from, 0, from->rank, &all);
    for (int i = 0; fits && i < target->rank; i++) {
        MwOnnxDim *dim = &target->dim[i];
        if (mw_onnx_dim_is(dim, 0) && !zero_is_size && i < from->rank)
            *dim = from->dim[i];
        if (mw_onnx_dim_is(dim, -1) && left < 0)
            left = i;
        else
            fits = dim->value >= 0 && mw_onnx_dim_mul(&known, dim, &known);
    }
    if (!fits)
        return refuse_shape(import, node);
    if (left >= 0 && !mw_onnx_dim_div(&all, &known, &target->dim[left])) {
        if (known.value == 0 || all.value % known.value != 0)
            return refuse_shape(import, node);
        mw_onnx_fix(import, &all);
        mw_onnx_fix(import, &known);
        target->dim[left] = mw_onnx_dim(all.value / known.value);
    }
    if (left >= 0)
        return true;
    return mw_onnx_shape_same_dim(import, &all, &known) || refuse_shape(import, node);
}

static bool flatten_target(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *from,
                           MwOnnxShape *target)
{
    int64_t axis = mw_onnx_int_of(node, "axis", 1);
    if (axis < -from->rank || axis > from->rank)
        return refuse_shape(import, node);
    axis += axis < 0 ? from->rank : 0;
    target->rank = 2;
    return (mw_onnx_shape_product(from, 0, (int)axis, &target->dim[0]) &&
            mw_onnx_shape_product(from, (int)axis, from->rank, &target->dim[1])) ||
           refuse_shape(import, node);
}

static bool squeeze_target(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *from,
                           MwOnnxShape *target)
{
    int axes[MW_MAX_RANK];
    const int count = mw_onnx_shape_axes(import, node, 1, from->rank, axes);
    if (count < -1)
        return false;
    bool drop[MW_MAX_RANK] = {false};
    for (int i = 0; i < from->rank; i++)
        drop[i] = count < 0 && mw_onnx_dim_is(&from->dim[i], 1);
    for (int i = 0; i < count; i++) {
        const MwOnnxDim one = mw_onnx_dim(1);
        if (!mw_onnx_shape_same_dim(import, &from->dim[axes[i]], &one))
            return mw_onnx_refuse(import, node, "a dimension of a size that is not 1");
        drop[axes[i]] = true;
    }
    for (int i = 0; i < from->rank; i++)
        if (!drop[i])
            target->dim[target->rank++] = from->dim[i];
    return true;
}

static bool unsqueeze_target(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxShape *from,
                             MwOnnxShape *target)
{
    int64_t given[MW_MAX_RANK];
    const int count = mw_onnx_constant_ints(import, mw_onnx_input(node, 1), given, MW_MAX_RANK);
    if (count < 0 || from->rank + count > MW_MAX_RANK)
        return mw_onnx_refuse(import, node, "axes that are computed, or more than %d dimensions",
                              MW_MAX_RANK);
    target->rank = from->rank + count;
    bool added[MW_MAX_RANK] = {false};
    for (int i = 0; i < count; i++) {
        int axis;
        if (!mw_onnx_shape_axis(import, node, given[i], target->rank, &axis))
            return false;
        if (added[axis])
            return mw_onnx_refuse(import, node, "one axis twice");
        added[axis] = true;
    }
    for (int i = 0, next = 0; i < target->rank; i++)
        target->dim[i] = added[i] ? mw_onnx_dim(1) : from->dim[next++];
    return true;
}

bool mw_onnx_shape_target(MwOnnxImport *import, const MwOnnxNode *node, MwOnnxShape *target)
{
    const MwOnnxShape *from = &mw_onnx_input(node, 0)->shape;
    *target = (MwOnnxShape){.type = from->type};
    if (strcmp(node->op, "Reshape") == 0)
        return reshape_target(import, node, from, target);
    if (strcmp(node->op, "Flatten") == 0)
        return flatten_target(import, node, from, target);
    if (strcmp(node->op, "Squeeze") == 0)
        return squeeze_target(import, node, from, target);
    MW_ASSERT(strcmp(node->op, "Unsqueeze") == 0);
    return unsqueeze_target(import, node, from, target);
}

/* ---- Slices ---- */

/* A place within a dimension, as Slice means it: from the end where it is negative, and no further
 * than the ends. Symbolic places are believed to lie within. */
static MwOnnxDim clamp_place(MwOnnxImport *import, const MwOnnxDim *place, const MwOnnxDim *size)
{
    MwOnnxDim at = *place;
    if (mw_onnx_dim_is_constant(place) && place->value < 0) {
        if (!mw_onnx_dim_add(place, size, &at))
            at = mw_onnx_dim(0);
        if (at.value < 0)
            return mw_onnx_dim(0);
    }
    if (at.value > size->value || mw_onnx_dim_equal(&at, size))
        return *size;
    if (at.value < 0) {
        mw_onnx_fix(import, &at);
        return mw_onnx_dim(0);
    }
    return at;
}

static bool make_range(MwOnnxImport *import, const MwOnnxNode *node, const MwOnnxDim *size,
                       const MwOnnxDim ends[2], MwOnnxRange *range)
{
    MwOnnxDim length;
    const int64_t step = range->step;
    if (step > 0) {
        const MwOnnxDim begin = clamp_place(import, &ends[0], size);
        const MwOnnxDim end = clamp_place(import, &ends[1], size);
        if (!mw_onnx_dim_sub(&end, &begin, &length) || length.value < 0)
            length = mw_onnx_dim(0);
        range->begin = begin;
    } else {
        if (!mw_onnx_dim_is_constant(size) || !mw_onnx_dim_is_constant(&ends[0]) ||
            !mw_onnx_dim_is_constant(&ends[1]) || step == 0) {
            mw_onnx_fix(import, size);
            mw_onnx_fix(import, &ends[0]);
            mw_onnx_fix(import, &ends[1]);
        }
        int64_t begin = ends[0].value, end = ends[1].value;
        begin = mw_max(mw_min(begin < 0 ? begin + size->value : begin, size->value - 1), 0);
        end = mw_max(end < 0 ? end + size->value : end, -1);
        if (step == 0)
            return mw_onnx_refuse(import, node, "a step of 0");
        range->begin = mw_onnx_dim(begin);
        length = mw_onnx_dim(mw_max(begin - end, 0));
    }
    if (step == 1) {
        range->count = length;
        return true;
    }
    mw_onnx_fix(import, &length);
    if (step < -((int64_t)1 << 40) || step > (int64_t)1 << 40)
        range->step = step < 0 ? -((int64_t)1 << 40) : (int64_t)1 << 40;
    range->count =
        mw_onnx_dim(mw_ceil_div(length.value, range->step < 0 ? -range->step : range->step));
    return true;
}

bool mw_onnx_shape_slice(MwOnnxImport *import, const MwOnnxNode *node,
                         MwOnnxRange range[MW_MAX_RANK])
{
    const MwOnnxShape *from = &mw_onnx_input(node, 0)->shape;
    MwOnnxDim begins[MW_MAX_RANK], ends[MW_MAX_RANK];
    int64_t steps[MW_MAX_RANK];
    int axes[MW_MAX_RANK];
    for (int i = 0; i < from->rank; i++)
        range[i] = (MwOnnxRange){mw_onnx_dim(0), from->dim[i], 1};
    const int count = mw_onnx_constant_dims(mw_onnx_input(node, 1), begins, MW_MAX_RANK);
    const int also = mw_onnx_constant_dims(mw_onnx_input(node, 2), ends, MW_MAX_RANK);
    if (count < 0 || also != count || count > from->rank)
        return mw_onnx_refuse(import, node, "a part whose ends are computed from elements");
    const int given = mw_onnx_shape_axes(import, node, 3, from->rank, axes);
    if (given < -1)
        return false;
    const MwOnnxValue *step = mw_onnx_input(node, 4);
    const int stepped = mw_onnx_constant_ints(import, step, steps, MW_MAX_RANK);
    if ((given >= 0 && given != count) || (step && stepped != count))
        return mw_onnx_refuse(import, node, "steps or axes that are computed from elements");
    for (int i = 0; i < count; i++) {
        const int axis = given < 0 ? i : axes[i];
        const MwOnnxDim of[2] = {begins[i], ends[i]};
        range[axis].step = step ? steps[i] : 1;
        if (!make_range(import, node, &from->dim[axis], of, &range[axis]))
            return false;
    }
    return true;
}

bool mw_onnx_shape_type(MwOnnxImport *import, const MwOnnxNode *node, const char *attribute,
                        MwType *type)
{
    const int64_t given = mw_onnx_int_of(node, attribute, 1);
    if (given >= 0 && given < 100 && mw_onnx_type((int32_t)given, type))
        return true;
    return mw_onnx_refuse(import, node, "elements of type %s",
                          mw_onnx_type_name(given < 0 || given > 100 ? -1 : (int32_t)given));
}
