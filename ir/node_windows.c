/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/node_windows.h"

#include <math.h>

MwConvolved mw_convolved(const MwGraph *graph, const MwNode *node)
{
    const MwTensor *a = mw_value_tensor(graph, node->operands[0]);
    const MwTensor *b = mw_value_tensor(graph, node->operands[1]);
    const MwTensor *result = mw_value_tensor(graph, (MwValueId){node->first_result});
    switch (node->op) {
    case MW_OP_CONV:
        return (MwConvolved){.x = a, .filter = b, .y = result};
    case MW_OP_CONV_TRANSPOSE:
        return (MwConvolved){.y = a, .filter = b, .x = result};
    case MW_OP_CONV_FILTER_GRAD:
        return (MwConvolved){.x = a, .y = b, .filter = result};
    default:
        MW_UNREACHABLE();
    }
}

MwPooled mw_pooled(const MwGraph *graph, const MwNode *node)
{
    const MwTensor *a = mw_value_tensor(graph, node->operands[0]);
    const MwTensor *result = mw_value_tensor(graph, (MwValueId){node->first_result});
    switch (node->op) {
    case MW_OP_MAX_POOL:
    case MW_OP_MAX_POOL_PICK:
    case MW_OP_SUM_POOL:
        return (MwPooled){.x = a, .y = result};
    case MW_OP_MAX_POOL_GRAD:
        return (MwPooled){.x = a, .y = mw_value_tensor(graph, node->operands[1])};
    case MW_OP_SUM_POOL_GRAD:
        return (MwPooled){.x = result, .y = a};
    default:
        MW_UNREACHABLE();
    }
}

bool mw_op_has_windows(MwOp op)
{
    return mw_op_info(op)->attrs & MW_ATTR_BIT(STRIDE);
}

bool mw_windows_give_x(MwOp op)
{
    return op == MW_OP_CONV_TRANSPOSE || op == MW_OP_MAX_POOL_GRAD || op == MW_OP_SUM_POOL_GRAD;
}

int mw_windows_taken(MwOp op)
{
    if (op == MW_OP_MAX_POOL_PICK)
        return 2;
    return op == MW_OP_MAX_POOL_GRAD || !mw_windows_give_x(op);
}

MwValueId mw_windows_x(const MwNode *node)
{
    return mw_windows_taken(node->op) ? node->operands[0] : (MwValueId){node->first_result};
}

double mw_windows_outside(MwOp op, int k)
{
    const bool is_maximum =
        op == MW_OP_MAX_POOL || op == MW_OP_MAX_POOL_GRAD || op == MW_OP_MAX_POOL_PICK;
    return is_maximum && k == 0 ? -INFINITY : 0;
}

MwWindows mw_windows(const MwGraph *graph, const MwNode *node)
{
    const MwAttr *size = mw_node_attr(node, MW_ATTR_WINDOW);
    const MwAttr *dilation = mw_node_attr(node, MW_ATTR_DILATION);
    const int64_t *stride = mw_node_attr(node, MW_ATTR_STRIDE)->ints.at;
    const int64_t *padding = mw_node_attr(node, MW_ATTR_PADDING)->ints.at;
    const MwConvolved conv = size ? (MwConvolved){0} : mw_convolved(graph, node);
    const MwPooled pool = size ? mw_pooled(graph, node) : (MwPooled){.x = conv.x, .y = conv.y};
    MwWindows windows = {.count = pool.x->rank - 2};
    for (int d = 0; d < windows.count; d++)
        windows.dim[d] = (MwWindow){.in = pool.x->dim[d + 1],
                                    .out = pool.y->dim[d + 1],
                                    .size = size ? size->ints.at[d] : conv.filter->dim[d],
                                    .stride = stride[d],
                                    .dilation = dilation ? dilation->ints.at[d] : 1,
                                    .before = padding[2 * d],
                                    .after = padding[2 * d + 1]};
    return windows;
}
