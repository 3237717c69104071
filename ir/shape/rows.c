/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of reductions, of operators along the last dimension, and of attention. */
#include "ir/shape/rules.h"

static bool check_axes(MwShapeContext *context, const MwTensor *operand)
{
    const MwAttr *axes = mw_shape_attr(context, MW_ATTR_AXES);
    if (!axes->ints.count)
        return mw_shape_fail(context, "needs at least one axis");
    for (int i = 0; i < axes->ints.count; i++) {
        int64_t axis = axes->ints.at[i];
        if (axis < 0 || axis >= operand->rank)
            return mw_shape_fail(context, "has axis %lld, but %s has %d dimension%s",
                                 (long long)axis, mw_shape_text(context, operand), operand->rank,
                                 operand->rank == 1 ? "" : "s");
        if (i && axis <= axes->ints.at[i - 1])
            return mw_shape_fail(context, "needs its axes in ascending order, each once");
    }
    return true;
}

bool mw_shape_reduce(MwShapeContext *context)
{
    const MwTensor *operand = mw_shape_operand(context, 0);
    if (operand->type == MW_BOOL)
        return mw_shape_fail(context, "needs numbers, not %s", mw_shape_text(context, operand));
    if (mw_op_info(context->query->op)->combine == MW_COMBINE_SUM
            ? !mw_shape_want_addable(context, 0)
            : !mw_shape_want_computed(context, 0))
        return false;
    if (!check_axes(context, operand))
        return false;
    const MwAttr *axes = mw_shape_attr(context, MW_ATTR_AXES);
    MwTensor result = mw_tensor_scalar(operand->type);
    if (!mw_shape_sum_type(context, &result.type))
        return false;
    for (int d = 0, at = 0; d < operand->rank; d++) {
        bool reduced = at < axes->ints.count && axes->ints.at[at] == d;
        at += reduced;
        if (!reduced || mw_shape_int(context, MW_ATTR_KEEP))
            result.dim[result.rank++] = reduced ? 1 : operand->dim[d];
    }
    return mw_shape_give(context, &result);
}

static bool want_last(MwShapeContext *context, int k)
{
    if (mw_shape_operand(context, k)->rank > 0)
        return true;
    return mw_shape_fail(context, "works along the last dimension, but %s has none",
                         mw_shape_operand_name(context, k));
}

static bool want_rows(MwShapeContext *context, int k)
{
    return mw_shape_want_float(context, k) && want_last(context, k);
}

static MwTensor without_last(const MwTensor *tensor)
{
    return mw_tensor(tensor->type, tensor->rank - 1, tensor->dim);
}

bool mw_shape_reduce_last(MwShapeContext *context)
{
    if (!want_rows(context, 0))
        return false;
    MwTensor result = without_last(mw_shape_operand(context, 0));
    return mw_shape_give(context, &result);
}

bool mw_shape_logsumexp_grad(MwShapeContext *context)
{
    if (!want_rows(context, 0))
        return false;
    const MwTensor *x = mw_shape_operand(context, 0);
    MwTensor rows = without_last(x);
    for (int k = 1; k < 3; k++)
        if (!mw_tensor_equal(mw_shape_operand(context, k), &rows))
            return mw_shape_fail(context, "needs %s beside %s, not %s",
                                 mw_shape_text(context, &rows), mw_shape_text(context, x),
                                 mw_shape_text(context, mw_shape_operand(context, k)));
    return mw_shape_give(context, x);
}

bool mw_shape_rows(MwShapeContext *context)
{
    for (int k = 0; k < context->query->operand_count; k++)
        if (!want_rows(context, k) || !mw_shape_want_like(context, k, 0, true))
            return false;
    return mw_shape_give(context, mw_shape_operand(context, 0));
}

bool mw_shape_cumsum(MwShapeContext *context)
{
    const MwTensor *x = mw_shape_operand(context, 0);
    return mw_shape_want_addable(context, 0) && want_last(context, 0) && mw_shape_give(context, x);
}

bool mw_shape_linear_scan(MwShapeContext *context)
{
    const MwTensor *x = mw_shape_operand(context, 0);
    int axis;
    return mw_shape_want_float(context, 0) && mw_shape_want_like(context, 1, 0, true) &&
           mw_shape_want_axis(context, MW_ATTR_AXIS, x, &axis) && mw_shape_give(context, x);
}

bool mw_shape_top_k(MwShapeContext *context)
{
    if (!want_rows(context, 0))
        return false;
    const MwTensor *x = mw_shape_operand(context, 0);
    const int64_t k = mw_shape_int(context, MW_ATTR_K), columns = x->dim[x->rank - 1];
    if (k < 1 || k > columns)
        return mw_shape_fail(context,
                             "needs a k from 1 to %lld, the last dimension of %s, not %lld",
                             (long long)columns, mw_shape_text(context, x), (long long)k);
    MwTensor values = *x;
    values.dim[x->rank - 1] = k;
    MwTensor results[] = {values, mw_tensor(MW_I32, values.rank, values.dim)};
    return mw_shape_give_all(context, results, MW_COUNT(results));
}

/* Checks q [b, s, h, d] and k and v [b, t, g, d], with h a multiple of g. */
static bool check_attention(MwShapeContext *context)
{
    static const char *const dims = "[batch, sequence, heads, head size]";
    for (int k = 0; k < 3; k++)
        if (!mw_shape_want_rank(context, k, 4, dims) || !mw_shape_want_float(context, k))
            return false;
    if (!mw_shape_want_same_types(context, 0, 3) ||
        !mw_shape_want_equal(context, 0, 0, 1, 0, "batch") ||
        !mw_shape_want_equal(context, 0, 3, 1, 3, "heads' width") ||
        !mw_shape_want_like(context, 2, 1, true))
        return false;
    const MwTensor *q = mw_shape_operand(context, 0), *k = mw_shape_operand(context, 1);
    if (q->dim[2] % k->dim[2] != 0)
        return mw_shape_fail(context,
                             "has %lld query heads over %lld key heads, which does not divide",
                             (long long)q->dim[2], (long long)k->dim[2]);
    return true;
}

/* The attribute has at most one number, from `least` up to what 32 bits count. */
static bool check_reach(MwShapeContext *context, MwAttrKey key, int64_t least)
{
    const MwAttr *reach = mw_shape_attr(context, key);
    if (reach->ints.count > 1)
        return mw_shape_fail(context, "has one %s, not %d", mw_attr_name(key), reach->ints.count);
    if (!reach->ints.count || (reach->ints.at[0] >= least && reach->ints.at[0] <= INT32_MAX))
        return true;
    return mw_shape_fail(context, "needs %s %s of at least %lld and at most %d, not %lld",
                         key == MW_ATTR_WINDOW ? "a" : "an", mw_attr_name(key), (long long)least,
                         INT32_MAX, (long long)reach->ints.at[0]);
}

/* Checks which keys a query sees. */
static bool check_reaches(MwShapeContext *context)
{
    return check_reach(context, MW_ATTR_WINDOW, 1) &&
           check_reach(context, MW_ATTR_OFFSET, -INT32_MAX);
}

/* The mask is [b, h, s, t] with any of them 1. */
static bool check_mask(MwShapeContext *context, int at)
{
    const MwTensor *q = mw_shape_operand(context, 0), *k = mw_shape_operand(context, 1);
    const MwTensor *mask = mw_shape_operand(context, at);
    MwTensor whole =
        mw_tensor(mask->type, 4, (int64_t[]){q->dim[0], q->dim[2], q->dim[1], k->dim[1]});
    bool fits = mask->rank == whole.rank;
    for (int d = 0; d < whole.rank && fits; d++)
        fits = mask->dim[d] == whole.dim[d] || mask->dim[d] == 1;
    if (!fits)
        return mw_shape_fail(context,
                             "needs a mask that broadcasts to %s [batch, heads, queries, keys], "
                             "not %s",
                             mw_shape_text(context, &whole), mw_shape_text(context, mask));
    if (mask->type == MW_BOOL || mask->type == q->type)
        return true;
    return mw_shape_fail(context, "needs a mask of bool or %s, the type of the queries, not %s",
                         mw_type_name(q->type), mw_type_name(mask->type));
}

static MwTensor attention_lse(const MwTensor *q)
{
    return mw_tensor(MW_F32, 3, q->dim);
}

bool mw_shape_sdpa(MwShapeContext *context)
{
    const bool is_masked = context->query->operand_count > 3;
    if (!check_attention(context) || !check_reaches(context) ||
        (is_masked && !check_mask(context, 3)))
        return false;
    const MwTensor *q = mw_shape_operand(context, 0);
    MwTensor results[] = {*q, attention_lse(q)};
    return mw_shape_give_all(context, results, 2);
}

/* Checks (q, k, v, out, lse, d), and a mask where there is a seventh operand. */
static bool check_gradient(MwShapeContext *context)
{
    const bool is_masked = context->query->operand_count > 6;
    if (!check_attention(context) || !check_reaches(context) ||
        (is_masked && !check_mask(context, 6)) || !mw_shape_want_like(context, 3, 0, true) ||
        !mw_shape_want_like(context, 5, 0, true))
        return false;
    MwTensor lse = attention_lse(mw_shape_operand(context, 0));
    if (!mw_tensor_equal(mw_shape_operand(context, 4), &lse))
        return mw_shape_fail(context, "needs %s as the fifth operand, not %s",
                             mw_shape_text(context, &lse),
                             mw_shape_text(context, mw_shape_operand(context, 4)));
    return true;
}

bool mw_shape_sdpa_grad(MwShapeContext *context)
{
    return check_gradient(context) && mw_shape_give_all(context, context->query->operands, 3);
}

bool mw_shape_sdpa_mask_grad(MwShapeContext *context)
{
    if (!check_gradient(context))
        return false;
    const MwTensor *mask = mw_shape_operand(context, 6);
    if (mask->type == MW_BOOL)
        return mw_shape_fail(context, "needs a mask that is added, not %s",
                             mw_shape_text(context, mask));
    return mw_shape_give(context, mask);
}

bool mw_shape_rope(MwShapeContext *context)
{
    if (!mw_shape_want_float(context, 0) ||
        !mw_shape_want_rank(context, 0, 4, "[batch, sequence, heads, head size]"))
        return false;
    const MwTensor *x = mw_shape_operand(context, 0);
    if (x->dim[3] % 2 != 0)
        return mw_shape_fail(context,
                             "rotates halves of the last dimension, but its size %lld is "
                             "odd",
                             (long long)x->dim[3]);
    return mw_shape_give(context, x);
}
