/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of operators that move elements: each moves them back. */
#include "passes/graph/gradients.h"

#include "ir/build.h"

static MwValueId along_axis(const MwGradient *g, MwOp op, MwValueId x, int64_t begin, int64_t end)
{
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, mw_node_int(&g->node, MW_ATTR_AXIS)),
                      mw_attr_int(MW_ATTR_BEGIN, begin), mw_attr_int(MW_ATTR_END, end)};
    return mw_build(g->graph, NULL, op, &x, 1, attrs, MW_COUNT(attrs));
}

void mw_gradient_reshape(MwGradient *g)
{
    MwTensor operand = mw_gradient_tensor(g, 0);
    g->operands[0] = mw_build_reshape(g->graph, g->results[0], &operand);
}

void mw_gradient_broadcast(MwGradient *g)
{
    mw_gradient_unbroadcast(g, 0, g->results[0]);
}

void mw_gradient_transpose(MwGradient *g)
{
    const MwAttr *perm = mw_node_attr(&g->node, MW_ATTR_PERM);
    int64_t back[MW_MAX_RANK];
    for (int i = 0; i < perm->ints.count; i++)
        back[perm->ints.at[i]] = i;
    MwAttr attr = mw_attr_ints(MW_ATTR_PERM, back, perm->ints.count);
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_TRANSPOSE, &g->results[0], 1, &attr, 1);
}

void mw_gradient_flip(MwGradient *g)
{
    const MwAttr *axis = mw_node_attr(&g->node, MW_ATTR_AXIS);
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_FLIP, &g->results[0], 1, axis, 1);
}

/* `x` with each step moved on along the axis of the node, `by` 1 or -1 places; zeros follow. */
static MwValueId moved_on(const MwGradient *g, MwValueId x, int by)
{
    const int64_t size = mw_gradient_tensor(g, 0).dim[mw_node_int(&g->node, MW_ATTR_AXIS)];
    x = along_axis(g, MW_OP_SLICE, x, by < 0, size - (by > 0));
    return along_axis(g, MW_OP_PAD, x, by > 0, by < 0);
}

/* dx is the same recurrence from the last step to the first, in which a step passes on by the decay
 * of the one after it; the decay of a step gets dx times what the step before left. */
void mw_gradient_linear_scan(MwGradient *g)
{
    const bool reverse = mw_node_int(&g->node, MW_ATTR_REVERSE);
    const int axis = (int)mw_node_int(&g->node, MW_ATTR_AXIS), on = reverse ? -1 : 1;
    const MwValueId dy = g->results[0];
    g->operands[0] = dy;
    if (mw_gradient_tensor(g, 0).dim[axis] == 1)
        return;
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis),
                            mw_attr_int(MW_ATTR_REVERSE, !reverse)};
    const MwValueId operands[] = {dy, moved_on(g, mw_gradient_operand(g, 1), -on)};
    const MwValueId dx = mw_build(g->graph, NULL, MW_OP_LINEAR_SCAN, operands, 2, attrs, 2);
    g->operands[0] = dx;
    g->operands[1] =
        mw_build_binary(g->graph, MW_OP_MUL, dx, moved_on(g, mw_gradient_result(g, 0), on));
}

void mw_gradient_slice(MwGradient *g)
{
    int64_t size = mw_gradient_tensor(g, 0).dim[mw_node_int(&g->node, MW_ATTR_AXIS)];
    int64_t begin = mw_node_int(&g->node, MW_ATTR_BEGIN), end = mw_node_int(&g->node, MW_ATTR_END);
    g->operands[0] = along_axis(g, MW_OP_PAD, g->results[0], begin, size - end);
}

void mw_gradient_pad(MwGradient *g)
{
    int64_t size = mw_gradient_tensor(g, 0).dim[mw_node_int(&g->node, MW_ATTR_AXIS)];
    int64_t begin = mw_node_int(&g->node, MW_ATTR_BEGIN);
    g->operands[0] = along_axis(g, MW_OP_SLICE, g->results[0], begin, begin + size);
}

/* The type of a gradient by a result that is not zero. */
static MwType known_type(const MwGradient *g)
{
    int k = 0;
    while (!mw_has_value(g->results[k]))
        k++;
    return mw_value_tensor(g->graph, g->results[k])->type;
}

void mw_gradient_split(MwGradient *g)
{
    int count = g->node.result_count;
    MwValueId *parts = MW_NEW(g->graph->arena, MwValueId, count);
    MwType type = known_type(g);
    for (int k = 0; k < count; k++) {
        MwTensor part = *mw_value_tensor(g->graph, mw_gradient_result(g, k));
        part.type = type;
        parts[k] =
            mw_has_value(g->results[k]) ? g->results[k] : mw_build_constant(g->graph, &part, 0);
    }
    const MwAttr *axis = mw_node_attr(&g->node, MW_ATTR_AXIS);
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_CONCAT, parts, count, axis, 1);
}

static void split_into_operands(MwGradient *g, int64_t axis)
{
    int count = g->node.operand_count;
    int64_t *sizes = MW_NEW(g->graph->arena, int64_t, count);
    for (int k = 0; k < count; k++)
        sizes[k] = mw_gradient_tensor(g, k).dim[axis];
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_ints(MW_ATTR_SIZES, sizes, count)};
    MwValueId first = mw_build(g->graph, NULL, MW_OP_SPLIT, &g->results[0], 1, attrs, 2);
    for (int k = 0; k < count; k++)
        g->operands[k] = (MwValueId){first.index + k};
}

/* One split if all operands are wanted, else a slice for each that is. */
void mw_gradient_concat(MwGradient *g)
{
    int64_t axis = mw_node_int(&g->node, MW_ATTR_AXIS);
    bool all = true;
    for (int k = 0; k < g->node.operand_count; k++)
        all &= g->wanted[k];
    if (all) {
        split_into_operands(g, axis);
        return;
    }
    for (int64_t k = 0, begin = 0; k < g->node.operand_count; k++) {
        int64_t end = begin + mw_gradient_tensor(g, (int)k).dim[axis];
        if (g->wanted[k])
            g->operands[k] = along_axis(g, MW_OP_SLICE, g->results[0], begin, end);
        begin = end;
    }
}
