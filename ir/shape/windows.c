/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of convolutions and pooling. */
#include "ir/windows.h"
#include "ir/shape/rules.h"

/* Checks that attribute `key` has `count` numbers of at least `least`. */
static bool want_numbers(MwShapeContext *context, MwAttrKey key, int count, int64_t least)
{
    const MwAttr *attr = mw_shape_attr(context, key);
    if (attr->ints.count != count)
        return mw_shape_fail(context, "needs %d numbers in %s, not %d", count, mw_attr_name(key),
                             attr->ints.count);
    for (int i = 0; i < count; i++)
        if (attr->ints.at[i] < least || attr->ints.at[i] > INT32_MAX)
            return mw_shape_fail(context, "needs numbers from %lld to %d in %s, not %lld",
                                 (long long)least, INT32_MAX, mw_attr_name(key),
                                 (long long)attr->ints.at[i]);
    return true;
}

static bool want_image(MwShapeContext *context, const MwTensor *x)
{
    if (x->rank >= 3 && x->rank <= MW_MAX_WINDOW_DIMS + 2 && mw_type_is_float(x->type))
        return true;
    return mw_shape_fail(context,
                         "needs float numbers [batch, one to %d spatial dimensions, channels], not "
                         "%s",
                         MW_MAX_WINDOW_DIMS, mw_shape_text(context, x));
}

/* Stores the number of windows along each spatial dimension of `x` in y, which has the sizes of x
 * otherwise. `size` and `dilation` have one number for each dimension; no dilation: 1. */
static bool slide(MwShapeContext *context, const MwTensor *x, const int64_t *size,
                  const MwAttr *dilation, MwTensor *y)
{
    const int64_t *stride = mw_shape_attr(context, MW_ATTR_STRIDE)->ints.at;
    const int64_t *padding = mw_shape_attr(context, MW_ATTR_PADDING)->ints.at;
    *y = *x;
    for (int d = 0; d < x->rank - 2; d++) {
        const MwWindow window = {.in = x->dim[d + 1],
                                 .size = size[d],
                                 .stride = stride[d],
                                 .dilation = dilation ? dilation->ints.at[d] : 1,
                                 .before = padding[2 * d],
                                 .after = padding[2 * d + 1]};
        if (mw_window_count(&window) < 1)
            return mw_shape_fail(
                context, "has a window of %lld over dimension %d of %s, where %lld are there",
                (long long)(window.dilation * (window.size - 1) + 1), d + 1,
                mw_shape_text(context, x), (long long)(window.in + window.before + window.after));
        y->dim[d + 1] = mw_window_count(&window);
    }
    return true;
}

static bool want_strides(MwShapeContext *context, const MwTensor *x)
{
    const int dims = x->rank - 2;
    return want_numbers(context, MW_ATTR_STRIDE, dims, 1) &&
           want_numbers(context, MW_ATTR_PADDING, 2 * dims, 0);
}

/* ---- Convolutions ---- */

/* What the convolution of `x` by `filter` gives. */
static bool convolve(MwShapeContext *context, const MwTensor *x, const MwTensor *filter,
                     MwTensor *y)
{
    if (!want_image(context, x) || !want_strides(context, x) ||
        !want_numbers(context, MW_ATTR_DILATION, x->rank - 2, 1))
        return false;
    const int last = x->rank - 1;
    if (filter->rank != x->rank)
        return mw_shape_fail(context,
                             "needs a filter [sizes.., channels, features] of %d dimensions for "
                             "%s, not %s",
                             x->rank, mw_shape_text(context, x), mw_shape_text(context, filter));
    if (x->dim[last] % filter->dim[last - 1] != 0 ||
        filter->dim[last] % mw_conv_groups(x, filter) != 0)
        return mw_shape_fail(context,
                             "cannot divide %lld channels and %lld features into groups of %lld "
                             "channels",
                             (long long)x->dim[last], (long long)filter->dim[last],
                             (long long)filter->dim[last - 1]);
    if (!slide(context, x, filter->dim, mw_shape_attr(context, MW_ATTR_DILATION), y))
        return false;
    y->dim[last] = filter->dim[last];
    return true;
}

bool mw_shape_conv(MwShapeContext *context)
{
    MwTensor y;
    return mw_shape_want_same_types(context, 0, 2) &&
           convolve(context, mw_shape_operand(context, 0), mw_shape_operand(context, 1), &y) &&
           mw_shape_give(context, &y);
}

/* The tensor that attribute `shape` gives, in the type of operand 0. */
static bool shape_given(MwShapeContext *context, MwTensor *tensor)
{
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    const int rank = mw_shape_operand(context, 0)->rank;
    if (shape->ints.count != rank)
        return mw_shape_fail(context, "needs a shape of %d dimensions, not %d", rank,
                             shape->ints.count);
    *tensor = mw_tensor(mw_shape_operand(context, 0)->type, rank, shape->ints.at);
    return true;
}

/* Checks that operand k is as the forward operator has it. */
static bool want_result(MwShapeContext *context, int k, const MwTensor *wanted)
{
    const MwTensor *given = mw_shape_operand(context, k);
    return mw_tensor_equal(given, wanted) ||
           mw_shape_fail(context, "needs %s as %s, not %s", mw_shape_text(context, wanted),
                         mw_shape_operand_name(context, k), mw_shape_text(context, given));
}

/* (y, filter) -> x */
bool mw_shape_conv_transpose(MwShapeContext *context)
{
    MwTensor x, y;
    return mw_shape_want_same_types(context, 0, 2) && shape_given(context, &x) &&
           convolve(context, &x, mw_shape_operand(context, 1), &y) && want_result(context, 0, &y) &&
           mw_shape_give(context, &x);
}

/* (x, y) -> filter */
bool mw_shape_conv_filter_grad(MwShapeContext *context)
{
    MwTensor filter, y;
    return mw_shape_want_same_types(context, 0, 2) && shape_given(context, &filter) &&
           convolve(context, mw_shape_operand(context, 0), &filter, &y) &&
           want_result(context, 1, &y) && mw_shape_sum_type(context, &filter.type) &&
           mw_shape_give(context, &filter);
}

/* ---- Pooling ---- */

/* What pooling of `x` gives. No window is all padding. */
static bool pool(MwShapeContext *context, const MwTensor *x, MwTensor *y)
{
    if (!want_image(context, x) || !want_strides(context, x) ||
        !want_numbers(context, MW_ATTR_WINDOW, x->rank - 2, 1))
        return false;
    const int64_t *size = mw_shape_attr(context, MW_ATTR_WINDOW)->ints.at;
    const int64_t *padding = mw_shape_attr(context, MW_ATTR_PADDING)->ints.at;
    for (int i = 0; i < 2 * (x->rank - 2); i++)
        if (padding[i] >= size[i / 2])
            return mw_shape_fail(context, "needs less padding than its window of %lld, not %lld",
                                 (long long)size[i / 2], (long long)padding[i]);
    return slide(context, x, size, NULL, y);
}

bool mw_shape_pool(MwShapeContext *context)
{
    MwTensor y;
    return pool(context, mw_shape_operand(context, 0), &y) && mw_shape_give(context, &y);
}

/* (x, d) */
bool mw_shape_max_pool_grad(MwShapeContext *context)
{
    MwTensor y;
    const MwTensor *x = mw_shape_operand(context, 0);
    return pool(context, x, &y) && want_result(context, 1, &y) && mw_shape_give(context, x);
}

/* (x, v) */
bool mw_shape_max_pool_pick(MwShapeContext *context)
{
    MwTensor y;
    const MwTensor *x = mw_shape_operand(context, 0);
    return pool(context, x, &y) && want_result(context, 1, x) && mw_shape_give(context, &y);
}

/* (d) */
bool mw_shape_sum_pool_grad(MwShapeContext *context)
{
    MwTensor x, y;
    return shape_given(context, &x) && pool(context, &x, &y) && want_result(context, 0, &y) &&
           mw_shape_give(context, &x);
}
