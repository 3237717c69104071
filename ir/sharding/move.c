/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules of operators that move elements. */
#include "ir/sharding/rules.h"

/* ---- Reshape ----
 *
 * A device keeps its elements through a reshape if the two specs give it the same ones. Number the
 * elements of a tensor in row-major order. A mesh axis of size m that splits a dimension cuts runs
 * of w elements: the coordinate along the axis of the device that holds element i is
 * (i / w) mod m, where w is the stride of the dimension times its size, over the ways that it is
 * split by that axis and the lower ones. These are the same functions of i if and only if the w
 * are equal. So operand and result lie alike exactly if both are split over the same axes, and each
 * axis cuts both into runs of equal length; blocks of both then hold their elements in the same
 * order.
 *
 * In factors: each group of dimensions that hold the same elements on both sides is a list of
 * loops, most significant first, so that each dimension runs over some in a row; [512] and [4, 128]
 * have loops 4 and 128, [6, 4] and [2, 12] have 2, 3 and 4. Axes cut dimensions from the most
 * significant loop on, so a loop is split only if the one before is split into single iterations,
 * over lower axes (MwFactor.follows); two loops in a row always share a dimension. Where neither of
 * two sizes divides the other, as in [6, 4] and [4, 6], their common divisor is the last loop that
 * may be split: an axis that cut less significant elements would have to fill one side down to a
 * length that is no boundary of runs on the other.
 *
 * A group of p and q dimensions has at most p + q - 1 factors. */

/* The dimension of a shape that a walk is at, and what is left of its size. */
typedef struct {
    const MwTensor *tensor;
    int dim;
    int64_t left;
} DimWalk;

/* Goes on to the next dimension while nothing of this one is left. False at the end. */
static bool walk_on(DimWalk *walk)
{
    while (walk->left == 1 && walk->dim + 1 < walk->tensor->rank)
        walk->left = walk->tensor->dim[++walk->dim];
    return walk->left > 1;
}

/* Takes what is left of the dimension, or the next. */
static int64_t take_dim(DimWalk *walk)
{
    walk_on(walk);
    const int64_t size = walk->left;
    walk->left = 1;
    return size;
}

/* Goes on to where both walks have taken as many elements. Returns how many, from here. */
static int64_t take_group(DimWalk *in, DimWalk *out)
{
    int64_t from = take_dim(in), to = take_dim(out);
    while (from != to)
        if (from < to)
            from *= take_dim(in);
        else
            to *= take_dim(out);
    return from;
}

void mw_factors_reshape(MwShardingContext *context)
{
    DimWalk in = {mw_sharding_operand(context, 0), -1, 1};
    DimWalk out = {mw_sharding_result(context, 0), -1, 1};
    bool follows = false;
    while (walk_on(&in) && walk_on(&out)) {
        const int64_t size = mw_common_divisor(in.left, out.left);
        if (size > 1) {
            int factor =
                follows ? mw_sharding_add_following(context, size) : mw_sharding_add(context, size);
            mw_sharding_operand_runs(context, 0, in.dim, factor);
            mw_sharding_result_runs(context, 0, out.dim, factor);
        }
        in.left /= size;
        out.left /= size;
        if (in.left > 1 && out.left > 1)
            mw_sharding_add_fixed(context, take_group(&in, &out));
        follows = in.left != out.left;
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
