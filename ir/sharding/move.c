/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules of operators that move elements. */
#include "ir/sharding/rules.h"

/* Dimensions [begin, end) of a shape, with the product of their sizes. */
typedef struct {
    int begin, end;
    int64_t product;
} DimRun;

/* Adds the next dimension of a shape to a run. */
static void take_dim(DimRun *run, const MwTensor *tensor)
{
    run->product *= tensor->dim[run->end++];
}

/* The first dimension of the run whose size is not 1; -1 if none. */
static int major_dim(const DimRun *run, const MwTensor *tensor)
{
    for (int d = run->begin; d < run->end; d++)
        if (tensor->dim[d] != 1)
            return d;
    return -1;
}

/* Dimensions `in` of the operand and `out` of the result hold the same elements in the same
 * order. Cutting the major dimension of both into equally many parts cuts the elements alike; no
 * other dimension of the group may be cut. */
static void add_group(MwShardingContext *context, const DimRun *in, const DimRun *out)
{
    const MwTensor *operand = mw_sharding_operand(context, 0);
    const MwTensor *result = mw_sharding_result(context, 0);
    int from = major_dim(in, operand), to = major_dim(out, result);
    if (from < 0)
        return;
    int64_t parts = mw_common_divisor(operand->dim[from], result->dim[to]);
    if (parts > 1) {
        int factor = mw_sharding_add(context, parts);
        mw_sharding_operand_runs(context, 0, from, factor);
        mw_sharding_result_runs(context, 0, to, factor);
    }
    if (in->product > parts)
        mw_sharding_add_fixed(context, in->product / parts);
}

/* Walks both shapes, and closes a group wherever the products of the dimensions so far are
 * equal. */
void mw_factors_reshape(MwShardingContext *context)
{
    const MwTensor *operand = mw_sharding_operand(context, 0);
    const MwTensor *result = mw_sharding_result(context, 0);
    for (DimRun in = {0, 0, 1}, out = {0, 0, 1}; in.end < operand->rank || out.end < result->rank;
         in = (DimRun){in.end, in.end, 1}, out = (DimRun){out.end, out.end, 1}) {
        if (in.end < operand->rank)
            take_dim(&in, operand);
        if (out.end < result->rank)
            take_dim(&out, result);
        while (in.product != out.product)
            if (in.product < out.product)
                take_dim(&in, operand);
            else
                take_dim(&out, result);
        add_group(context, &in, &out);
    }
}

void mw_factors_transpose(MwShardingContext *context)
{
    mw_factors_points(context);
    const MwAttr *perm = mw_node_attr(context->node, MW_ATTR_PERM);
    for (int d = 0; d < perm->ints.count; d++)
        mw_sharding_operand_runs(context, 0, (int)perm->ints.at[d], d);
}

/* All operands and results have equal dimensions, except `axis`, which is fixed. */
static void all_but_axis(MwShardingContext *context, int64_t axis_size)
{
    int axis = (int)mw_node_int(context->node, MW_ATTR_AXIS);
    const MwTensor *operand = mw_sharding_operand(context, 0);
    for (int d = 0; d < operand->rank; d++) {
        int factor = d == axis ? mw_sharding_add_fixed(context, axis_size)
                               : mw_sharding_add(context, operand->dim[d]);
        for (int k = 0; k < context->node->operand_count; k++)
            mw_sharding_operand_runs(context, k, d, factor);
        for (int k = 0; k < context->node->result_count; k++)
            mw_sharding_result_runs(context, k, d, factor);
    }
}

/* The loops of slice, flip and pad run over what they write. */
void mw_factors_slice(MwShardingContext *context)
{
    int64_t axis = mw_node_int(context->node, MW_ATTR_AXIS);
    all_but_axis(context, mw_sharding_result(context, 0)->dim[axis]);
}

/* Split and concat: `axis` is whole on one side, and the sum of several on the other. */
void mw_factors_split(MwShardingContext *context)
{
    int64_t axis = mw_node_int(context->node, MW_ATTR_AXIS), whole = 0;
    for (int k = 0; k < context->node->operand_count; k++)
        whole += mw_sharding_operand(context, k)->dim[axis];
    all_but_axis(context, whole);
}
