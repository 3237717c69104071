/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Legalizes collectives: they run on dense blocks of the first dimension. If a collective gathers
 * or scatters along another dimension, a copy packs its operand and a view unpacks its result. */
#include "codegen/legal/legalize_rules.h"

#include <float.h>
#include <string.h>

/* The number of elements of the dimensions before an axis, and of the axis with those after it. */
typedef struct {
    int64_t before, from;
} AxisSizes;

static AxisSizes sizes_around(const MwTensor *tensor, int axis)
{
    AxisSizes sizes = {1, 1};
    for (int d = 0; d < axis; d++)
        sizes.before *= tensor->dim[d];
    for (int d = axis; d < tensor->rank; d++)
        sizes.from *= tensor->dim[d];
    return sizes;
}

/* Adds the collective `node` with the attributes `axis` and `from_axis` replaced. */
static MwValueId add_collective(MwLegalizer *l, const MwNode *node, MwValueId x, int axis,
                                int from_axis)
{
    MwAttr attrs[8];
    for (int i = 0; i < node->attr_count; i++) {
        attrs[i] = node->attrs[i];
        if (attrs[i].key == MW_ATTR_AXIS)
            attrs[i].i = axis;
        if (attrs[i].key == MW_ATTR_FROM_AXIS)
            attrs[i].i = from_axis;
    }
    return mw_legal_add(l, node->op, &x, 1, attrs, node->attr_count);
}

static MwValueId reshape_like(MwLegalizer *l, MwValueId x, const MwTensor *tensor)
{
    return mw_legal_reshape(l, x, tensor->rank, tensor->dim);
}

static MwValueId dense(MwLegalizer *l, MwValueId x)
{
    return mw_legal_dense(l, x, mw_legal_tensor(l, x)->type);
}

/* Gathers the blocks of all devices along a new first dimension, and moves it to the axis by a
 * view. */
static MwValueId all_gather(MwLegalizer *l, const MwNode *node, MwValueId x, const MwTensor *result)
{
    static const int64_t swap[] = {1, 0, 2};
    AxisSizes sizes = sizes_around(mw_legal_tensor(l, x), (int)mw_node_int(node, MW_ATTR_AXIS));
    int64_t dim[] = {1, sizes.before, sizes.from};
    x = mw_legal_reshape(l, dense(l, x), 3, dim);
    x = add_collective(l, node, x, 0, 0);
    return reshape_like(l, mw_legal_transpose(l, x, swap), result);
}

/* Packs the shards of the axis as blocks, and scatters the blocks. */
static MwValueId reduce_scatter(MwLegalizer *l, const MwNode *node, MwValueId x)
{
    static const int64_t swap[] = {1, 0, 2};
    int axis = (int)mw_node_int(node, MW_ATTR_AXIS);
    int64_t ways = mw_node_int(node, MW_ATTR_WAYS);
    MwTensor result = *mw_legal_tensor(l, x);
    result.dim[axis] /= ways;
    AxisSizes sizes = sizes_around(mw_legal_tensor(l, x), axis);
    int64_t dim[] = {sizes.before, ways, sizes.from / ways};
    x = dense(l, mw_legal_transpose(l, mw_legal_reshape(l, x, 3, dim), swap));
    return reshape_like(l, add_collective(l, node, x, 0, 0), &result);
}

/* Transposes `x` so that dimension `from` moves to position `to`. */
static MwValueId move_dim(MwLegalizer *l, MwValueId x, int from, int to)
{
    int rank = mw_legal_tensor(l, x)->rank;
    int64_t perm[MW_MAX_RANK];
    for (int i = 0, d = 0; i < rank; i++) {
        if (i == to) {
            perm[i] = from;
            continue;
        }
        d += d == from;
        perm[i] = d++;
    }
    return mw_legal_transpose(l, x, perm);
}

/* Packs the shards of dimension `axis` as blocks, and joins the blocks that arrive, one from
 * each device, along `from_axis`. */
static MwValueId all_to_all(MwLegalizer *l, const MwNode *node, MwValueId x, const MwTensor *result)
{
    int axis = (int)mw_node_int(node, MW_ATTR_AXIS);
    int from_axis = (int)mw_node_int(node, MW_ATTR_FROM_AXIS);
    int64_t ways = mw_node_int(node, MW_ATTR_WAYS);
    MwTensor split = *mw_legal_tensor(l, x);
    MW_ASSERT(split.rank < MW_MAX_RANK);
    memmove(&split.dim[axis + 1], &split.dim[axis], sizeof(int64_t) * (size_t)(split.rank - axis));
    split.rank++;
    split.dim[axis] = ways;
    split.dim[axis + 1] /= ways;
    x = dense(l, move_dim(l, reshape_like(l, x, &split), axis, 0));
    MwTensor blocks = *mw_legal_tensor(l, x);
    int64_t flat[] = {ways, 1, mw_tensor_elements(&blocks) / ways};
    x = add_collective(l, node, mw_legal_reshape(l, x, 3, flat), 0, 1);
    return reshape_like(l, move_dim(l, reshape_like(l, x, &blocks), 0, from_axis), result);
}

static MwValueId all_reduce(MwLegalizer *l, const MwNode *node, MwValueId x, const char *combine)
{
    MwAttr attrs[] = {*mw_node_attr(node, MW_ATTR_MESH_AXIS), *mw_node_attr(node, MW_ATTR_WAYS),
                      mw_attr_text(MW_ATTR_COMBINE, combine)};
    return mw_legal_add(l, MW_OP_ALL_REDUCE, &x, 1, attrs, 3);
}

/* Returns the shard of `x` that a reduce_scatter would give this device. */
static MwValueId shard_like(MwLegalizer *l, const MwNode *node, MwValueId x)
{
    MwAttr attrs[] = {*mw_node_attr(node, MW_ATTR_AXIS), *mw_node_attr(node, MW_ATTR_MESH_AXIS),
                      *mw_node_attr(node, MW_ATTR_WAYS)};
    return mw_legal_add(l, MW_OP_SHARD, &x, 1, attrs, 3);
}

/* Combines by log-sum-exp: log(sum of exp(x)) = m + log(sum of exp(x - m)), where m is the greatest
 * x, or the least number if all are -infinity. */
static MwValueId combine_logsumexp(MwLegalizer *l, const MwNode *node, MwValueId x)
{
    MwInterner *interner = l->legal->graph->interner;
    MwValueId max = all_reduce(l, node, x, mw_intern(interner, "max"));
    MwAttr least[] = {mw_attr_int(MW_ATTR_TYPE, mw_legal_tensor(l, x)->type),
                      mw_attr_ints(MW_ATTR_SHAPE, NULL, 0), mw_attr_float(MW_ATTR_VALUE, -FLT_MAX)};
    MwValueId bounded[] = {max, mw_legal_add(l, MW_OP_CONSTANT, NULL, 0, least, MW_COUNT(least))};
    max = mw_legal_add(l, MW_OP_MAXIMUM, bounded, 2, NULL, 0);
    MwValueId operands[] = {x, max};
    MwValueId shifted = mw_legal_add(l, MW_OP_SUB, operands, 2, NULL, 0);
    MwValueId sum = dense(l, mw_legal_add(l, MW_OP_EXP, &shifted, 1, NULL, 0));
    if (node->op == MW_OP_REDUCE_SCATTER) {
        MwNode sums = *node;
        MwAttr *attrs = mw_arena_dup(l->legal->graph->arena, node->attrs,
                                     sizeof *attrs * (size_t)node->attr_count);
        for (int i = 0; i < node->attr_count; i++)
            if (attrs[i].key == MW_ATTR_COMBINE)
                attrs[i].text = mw_intern(interner, "sum");
        sums.attrs = attrs;
        sum = reduce_scatter(l, &sums, sum);
        max = shard_like(l, node, max);
    } else {
        sum = all_reduce(l, node, sum, mw_intern(interner, "sum"));
    }
    MwValueId terms[] = {max, mw_legal_add(l, MW_OP_LOG, &sum, 1, NULL, 0)};
    return mw_legal_add(l, MW_OP_ADD, terms, 2, NULL, 0);
}

void mw_legal_collective(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                         MwValueId *results)
{
    const MwTensor *result = &l->rewrite.from->values.at[node->first_result].tensor;
    const MwAttr *combine = mw_node_attr(node, MW_ATTR_COMBINE);
    MwValueId x = operands[0];
    if (combine && strcmp(combine->text, "logsumexp") == 0) {
        results[0] = combine_logsumexp(l, node, dense(l, x));
        return;
    }
    switch (mw_op_collective(node->op)) {
    case MW_ALL_REDUCE:
        results[0] = all_reduce(l, node, dense(l, x), combine->text);
        return;
    case MW_ALL_GATHER:
        results[0] = all_gather(l, node, x, result);
        return;
    case MW_REDUCE_SCATTER:
        results[0] = reduce_scatter(l, node, x);
        return;
    case MW_ALL_TO_ALL:
        results[0] = all_to_all(l, node, x, result);
        return;
    case MW_RING_SHIFT:
    case MW_RING_SHIFT_BACK:
    case MW_MIRROR:
        results[0] = add_collective(l, node, dense(l, x), 0, 0);
        return;
    case MW_COLLECTIVE_COUNT:
        MW_UNREACHABLE();
    }
}
