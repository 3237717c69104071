/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of operators that move elements: views, slices, and those that change a sharding. */
#include "ir/shape/rules.h"

bool mw_shape_reshape(MwShapeContext *context)
{
    const MwTensor *operand = mw_shape_operand(context, 0);
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    MwTensor result = mw_tensor(operand->type, shape->ints.count, shape->ints.at);
    double elements = 1;
    for (int d = 0; d < result.rank; d++)
        elements *= (double)result.dim[d];
    if (elements == (double)mw_tensor_elements(operand))
        return mw_shape_give(context, &result);
    mw_shape_fail(context, "cannot turn %s into %s", mw_shape_text(context, operand),
                  mw_shape_text(context, &result));
    return mw_shape_note(context, "the operand has %lld elements, the result would have %.0f",
                         (long long)mw_tensor_elements(operand), elements);
}

bool mw_shape_transpose(MwShapeContext *context)
{
    const MwTensor *operand = mw_shape_operand(context, 0);
    const MwAttr *perm = mw_shape_attr(context, MW_ATTR_PERM);
    unsigned seen = 0;
    MwTensor result = mw_tensor_scalar(operand->type);
    if (perm->ints.count == operand->rank)
        for (int i = 0; i < operand->rank; i++) {
            int64_t from = perm->ints.at[i];
            if (from < 0 || from >= operand->rank)
                break;
            seen |= 1u << from;
            result.dim[result.rank++] = operand->dim[from];
        }
    if (perm->ints.count != operand->rank || seen != (1u << operand->rank) - 1)
        return mw_shape_fail(context,
                             "needs a perm that names each of the %d dimensions of %s "
                             "once",
                             operand->rank, mw_shape_text(context, operand));
    return mw_shape_give(context, &result);
}

bool mw_shape_flip(MwShapeContext *context)
{
    const MwTensor *operand = mw_shape_operand(context, 0);
    int axis;
    return mw_shape_want_axis(context, MW_ATTR_AXIS, operand, &axis) &&
           mw_shape_give(context, operand);
}

bool mw_shape_slice(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    int axis;
    if (!mw_shape_want_axis(context, MW_ATTR_AXIS, &result, &axis))
        return false;
    int64_t begin = mw_shape_int(context, MW_ATTR_BEGIN), end = mw_shape_int(context, MW_ATTR_END);
    if (begin < 0 || begin >= end || end > result.dim[axis])
        return mw_shape_fail(context, "[%lld, %lld) is no part of dimension %d of %s",
                             (long long)begin, (long long)end, axis,
                             mw_shape_text(context, &result));
    result.dim[axis] = end - begin;
    return mw_shape_give(context, &result);
}

bool mw_shape_pad(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    int axis;
    if (!mw_shape_want_axis(context, MW_ATTR_AXIS, &result, &axis))
        return false;
    int64_t begin = mw_shape_int(context, MW_ATTR_BEGIN), end = mw_shape_int(context, MW_ATTR_END);
    int64_t most = INT64_C(1) << 52;
    if (begin < 0 || end < 0 || begin > most || end > most)
        return mw_shape_fail(context, "cannot add %lld and %lld elements", (long long)begin,
                             (long long)end);
    result.dim[axis] += begin + end;
    return mw_shape_give(context, &result);
}

bool mw_shape_split(MwShapeContext *context)
{
    const MwTensor *operand = mw_shape_operand(context, 0);
    const MwAttr *sizes = mw_shape_attr(context, MW_ATTR_SIZES);
    int axis;
    if (!mw_shape_want_axis(context, MW_ATTR_AXIS, operand, &axis))
        return false;
    if (!sizes->ints.count)
        return mw_shape_fail(context, "needs at least one size");
    MwTensor *results = MW_NEW(context->arena, MwTensor, sizes->ints.count);
    double sum = 0;
    for (int k = 0; k < sizes->ints.count; k++) {
        results[k] = *operand;
        results[k].dim[axis] = sizes->ints.at[k];
        sum += (double)sizes->ints.at[k];
    }
    if (sum != (double)operand->dim[axis])
        return mw_shape_fail(context, "has sizes that sum to %.0f, but dimension %d of %s is %lld",
                             sum, axis, mw_shape_text(context, operand),
                             (long long)operand->dim[axis]);
    return mw_shape_give_all(context, results, sizes->ints.count);
}

bool mw_shape_concat(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    int axis, count = context->query->operand_count;
    if (!mw_shape_want_axis(context, MW_ATTR_AXIS, &result, &axis) ||
        !mw_shape_want_same_types(context, 0, count))
        return false;
    for (int k = 1; k < count; k++) {
        const MwTensor *other = mw_shape_operand(context, k);
        MwTensor wanted = result;
        wanted.dim[axis] = other->rank > axis ? other->dim[axis] : 0;
        if (!mw_tensor_equal(other, &wanted))
            return mw_shape_fail(context,
                                 "along axis %d cannot join %s to %s: only that dimension "
                                 "may differ",
                                 axis, mw_shape_text(context, other),
                                 mw_shape_text(context, mw_shape_operand(context, 0)));
        result.dim[axis] += other->dim[axis];
    }
    return mw_shape_give(context, &result);
}

static bool check_combine(MwShapeContext *context)
{
    const char *name = mw_shape_attr(context, MW_ATTR_COMBINE)->text;
    MwCombine combine;
    return mw_combine_parse(name, &combine) ||
           mw_shape_fail(context, "combines by sum, max or logsumexp, not by \"%s\"", name);
}

/* Divides dimension `axis` of `result` by attribute `ways`. */
static bool divide(MwShapeContext *context, MwTensor *result, int axis)
{
    int64_t ways = mw_shape_int(context, MW_ATTR_WAYS);
    if (result->dim[axis] % ways != 0)
        return mw_shape_fail(context, "cannot divide dimension %d of %s into %lld equal parts",
                             axis, mw_shape_text(context, result), (long long)ways);
    result->dim[axis] /= ways;
    return true;
}

/* The result type of a collective, from its row of base/collectives.def. */
bool mw_shape_collective(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    const MwCollectiveInfo *info = mw_collective_info(mw_op_collective(context->query->op));
    int axis = 0, joined;
    if ((info->splits || info->joins) && !mw_shape_want_axis(context, MW_ATTR_AXIS, &result, &axis))
        return false;
    joined = axis;
    if (info->splits && info->joins) {
        if (!mw_shape_want_axis(context, MW_ATTR_FROM_AXIS, &result, &joined))
            return false;
        if (axis == joined)
            return mw_shape_fail(context, "splits and gathers one dimension, %d", axis);
    }
    if ((info->combines && !check_combine(context)) ||
        (info->splits && !divide(context, &result, axis)))
        return false;
    if (info->joins)
        result.dim[joined] *= mw_shape_int(context, MW_ATTR_WAYS);
    return mw_shape_give(context, &result);
}

bool mw_shape_shard(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    int axis;
    return mw_shape_want_axis(context, MW_ATTR_AXIS, &result, &axis) &&
           divide(context, &result, axis) && mw_shape_give(context, &result);
}

bool mw_shape_run_after(MwShapeContext *context)
{
    return mw_shape_give(context, mw_shape_operand(context, 0));
}
