/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of element-wise operators. Operands broadcast as NumPy does: dimensions align from
 * the right, and size 1 stretches. Types never convert by themselves. */
#include "ir/shape/rules.h"

bool mw_shape_map(MwShapeContext *context)
{
    MwTensor result;
    int count = context->query->operand_count;
    return mw_shape_want_same_types(context, 0, count) &&
           mw_shape_broadcast_operands(context, 0, count, &result) &&
           mw_shape_give(context, &result);
}

bool mw_shape_map_number(MwShapeContext *context)
{
    for (int k = 0; k < context->query->operand_count; k++) {
        if (mw_shape_operand(context, k)->type == MW_BOOL)
            return mw_shape_fail(context, "needs numbers, but %s is %s",
                                 mw_shape_operand_name(context, k),
                                 mw_shape_text(context, mw_shape_operand(context, k)));
        if (!mw_shape_want_computed(context, k))
            return false;
    }
    return mw_shape_map(context);
}

bool mw_shape_accumulate(MwShapeContext *context)
{
    const MwTensor *sum = mw_shape_operand(context, 0), *addend = mw_shape_operand(context, 1);
    MwTensor both = *addend;
    both.type = sum->type;
    if (!mw_type_is_float(sum->type) || !mw_type_is_float(addend->type))
        return mw_shape_map_number(context);
    if (!mw_shape_want_computed(context, 0) || !mw_shape_want_computed(context, 1))
        return false;
    if (!mw_tensor_equal(sum, &both))
        return mw_shape_fail(context, "needs an addend of the shape of its accumulator, not %s",
                             mw_shape_text(context, addend));
    return mw_shape_give(context, sum);
}

bool mw_shape_map_float(MwShapeContext *context)
{
    for (int k = 0; k < context->query->operand_count; k++)
        if (!mw_shape_want_float(context, k))
            return false;
    return mw_shape_map(context);
}

bool mw_shape_grad(MwShapeContext *context)
{
    const MwTensor *y = mw_shape_operand(context, 0);
    if (y->type != MW_F32 || y->rank != 0)
        return mw_shape_fail(context,
                             "needs one number f32[] to differentiate, such as a sum, not %s",
                             mw_shape_text(context, y));
    return mw_shape_want_float(context, 1) && mw_shape_give(context, mw_shape_operand(context, 1));
}

static bool want_bool(MwShapeContext *context, int k)
{
    const MwTensor *operand = mw_shape_operand(context, k);
    if (operand->type == MW_BOOL)
        return true;
    return mw_shape_fail(context, "needs bool for %s, not %s", mw_shape_operand_name(context, k),
                         mw_shape_text(context, operand));
}

bool mw_shape_map_bool(MwShapeContext *context)
{
    for (int k = 0; k < context->query->operand_count; k++)
        if (!want_bool(context, k))
            return false;
    return mw_shape_map(context);
}

bool mw_shape_isnan(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    result.type = MW_BOOL;
    return mw_shape_want_float(context, 0) && mw_shape_give(context, &result);
}

bool mw_shape_compare(MwShapeContext *context)
{
    MwTensor result;
    if (!mw_shape_want_same_types(context, 0, 2) ||
        !mw_shape_broadcast_operands(context, 0, 2, &result))
        return false;
    result.type = MW_BOOL;
    return mw_shape_give(context, &result);
}

bool mw_shape_select(MwShapeContext *context)
{
    MwTensor result;
    if (!want_bool(context, 0) || !mw_shape_want_same_types(context, 1, 3) ||
        !mw_shape_broadcast_operands(context, 0, 3, &result))
        return false;
    result.type = mw_shape_operand(context, 1)->type;
    return mw_shape_give(context, &result);
}

bool mw_shape_cast(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    return mw_shape_want_type(context, &result.type) && mw_shape_give(context, &result);
}

bool mw_shape_cast_stochastic(MwShapeContext *context)
{
    MwTensor result = *mw_shape_operand(context, 0);
    if (result.type != MW_F32)
        return mw_shape_fail(context, "rounds f32, not %s", mw_shape_text(context, &result));
    if (!mw_shape_want_type(context, &result.type))
        return false;
    if (!mw_type_is_narrow(result.type))
        return mw_shape_fail(context, "rounds to floats of 16 or 8 bits, not to %s",
                             mw_type_name(result.type));
    return mw_shape_give(context, &result);
}

bool mw_shape_broadcast(MwShapeContext *context)
{
    const MwTensor *operand = mw_shape_operand(context, 0);
    const MwAttr *shape = mw_shape_attr(context, MW_ATTR_SHAPE);
    MwTensor result = mw_tensor(operand->type, shape->ints.count, shape->ints.at);
    if (operand->rank > result.rank)
        return mw_shape_fail(context, "cannot give %s the shape of %s: it has more dimensions",
                             mw_shape_text(context, operand), mw_shape_text(context, &result));
    for (int back = 1; back <= operand->rank; back++) {
        int from = operand->rank - back, to = result.rank - back;
        if (operand->dim[from] == 1 || operand->dim[from] == result.dim[to])
            continue;
        mw_shape_fail(context, "cannot stretch %s to %s", mw_shape_text(context, operand),
                      mw_shape_text(context, &result));
        return mw_shape_note(context,
                             "dimension %d is %lld and would become %lld; only size 1 "
                             "stretches",
                             from, (long long)operand->dim[from], (long long)result.dim[to]);
    }
    return mw_shape_give(context, &result);
}

/* (w, g, m..., lr[, step]): all operands have the shape of w, except the scalars at the end. The
 * results are one of the shape of w and of `type`, and the new m... */
static bool update(MwShapeContext *context, MwType type)
{
    int results = mw_op_info(context->query->op)->results;
    int tensors = results + 1, operands = context->query->operand_count;
    for (int k = 0; k < tensors; k++)
        if (!mw_shape_want_float(context, k) || !mw_shape_want_like(context, k, 0, false))
            return false;
    for (int k = tensors; k < operands; k++) {
        MwTensor scalar = mw_tensor_scalar(k == tensors ? MW_F32 : MW_I32);
        if (!mw_tensor_equal(mw_shape_operand(context, k), &scalar))
            return mw_shape_fail(context, "needs %s as %s, not %s", mw_shape_text(context, &scalar),
                                 mw_shape_operand_name(context, k),
                                 mw_shape_text(context, mw_shape_operand(context, k)));
    }
    MwTensor *given = MW_NEW(context->arena, MwTensor, results);
    given[0] = *mw_shape_operand(context, 0);
    given[0].type = type;
    for (int k = 1; k < results; k++)
        given[k] = *mw_shape_operand(context, k + 1);
    return mw_shape_give_all(context, given, results);
}

bool mw_shape_new_weight(MwShapeContext *context)
{
    return update(context, mw_shape_operand(context, 0)->type);
}

bool mw_shape_change(MwShapeContext *context)
{
    return update(context, MW_F32);
}
