/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules of sources, element-wise operators and operators along whole dimensions. */
#include "ir/sharding/rules.h"

/* Each dimension of the first result has a factor, in order; the other results run over the same
 * factors. */
void mw_factors_points(MwShardingContext *context)
{
    const MwTensor *result = mw_sharding_result(context, 0);
    for (int d = 0; d < result->rank; d++) {
        int factor = mw_sharding_add(context, result->dim[d]);
        for (int k = 0; k < context->node->result_count; k++)
            mw_sharding_result_runs(context, k, d, factor);
    }
}

/* Operand `k` is broadcast to the first result: its dimensions, aligned from the right, run over
 * the result's factors, except those that stretch. */
static void broadcast_operand(MwShardingContext *context, int k)
{
    const MwTensor *operand = mw_sharding_operand(context, k);
    const MwTensor *result = mw_sharding_result(context, 0);
    for (int back = 1; back <= operand->rank; back++) {
        int from = operand->rank - back, to = result->rank - back;
        if (operand->dim[from] == result->dim[to])
            mw_sharding_operand_runs(context, k, from, context->rule->results[0].factor[to]);
    }
}

void mw_factors_map(MwShardingContext *context)
{
    mw_factors_points(context);
    for (int k = 0; k < context->node->operand_count; k++)
        broadcast_operand(context, k);
}

void mw_factors_reduce(MwShardingContext *context)
{
    const MwTensor *operand = mw_sharding_operand(context, 0);
    const MwAttr *axes = mw_node_attr(context->node, MW_ATTR_AXES);
    bool keep = mw_node_int(context->node, MW_ATTR_KEEP);
    for (int d = 0, at = 0, to = 0; d < operand->rank; d++) {
        int factor = mw_sharding_add(context, operand->dim[d]);
        mw_sharding_operand_runs(context, 0, d, factor);
        bool reduced = at < axes->ints.count && axes->ints.at[at] == d;
        at += reduced;
        if (!reduced)
            mw_sharding_result_runs(context, 0, to, factor);
        to += !reduced || keep;
    }
}

static void leading_dims(MwShardingContext *context, bool last_is_fixed)
{
    const MwTensor *first = mw_sharding_operand(context, 0);
    for (int d = 0; d < first->rank; d++) {
        bool fixed = last_is_fixed && d == first->rank - 1;
        int factor = fixed ? mw_sharding_add_fixed(context, first->dim[d])
                           : mw_sharding_add(context, first->dim[d]);
        for (int k = 0; k < context->node->operand_count; k++)
            if (d < mw_sharding_operand(context, k)->rank)
                mw_sharding_operand_runs(context, k, d, factor);
        for (int k = 0; k < context->node->result_count; k++)
            if (d < mw_sharding_result(context, k)->rank)
                mw_sharding_result_runs(context, k, d, factor);
    }
}

/* Each dimension of operand 0 has a factor. The leading dimensions of the other operands and of
 * the results run over the same factors. */
void mw_factors_leading(MwShardingContext *context)
{
    leading_dims(context, false);
}

/* Like mw_factors_leading, but the last dimension is fixed, because the operator needs whole
 * rows. */
void mw_factors_rows(MwShardingContext *context)
{
    leading_dims(context, true);
}

/* A step needs the one before: the axis is fixed. */
void mw_factors_linear_scan(MwShardingContext *context)
{
    const MwTensor *x = mw_sharding_operand(context, 0);
    for (int d = 0; d < x->rank; d++) {
        const bool is_fixed = d == mw_node_int(context->node, MW_ATTR_AXIS);
        const int factor = is_fixed ? mw_sharding_add_fixed(context, x->dim[d])
                                    : mw_sharding_add(context, x->dim[d]);
        for (int k = 0; k < 2; k++)
            mw_sharding_operand_runs(context, k, d, factor);
        mw_sharding_result_runs(context, 0, d, factor);
    }
}

/* x[.., n] -> values[.., k], ids[.., k]: an element of a result needs the whole row. */
void mw_factors_top_k(MwShardingContext *context)
{
    leading_dims(context, true);
    const int last = mw_sharding_result(context, 0)->rank - 1;
    const int place = mw_sharding_add_fixed(context, mw_sharding_result(context, 0)->dim[last]);
    for (int k = 0; k < context->node->result_count; k++)
        mw_sharding_result_runs(context, k, last, place);
}

/* A node on local shapes has no factors, so that nothing splits it again. */
void mw_factors_local(MwShardingContext *context)
{
    MW_ASSERT(context->rule->factor_count == 0);
}
