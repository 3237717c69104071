/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/access.h"

#include "codegen/legal/loops.h"

static const MwTensor *result_tensor(const MwLegal *legal, const MwNode *node)
{
    return &legal->graph->values.at[node->first_result].tensor;
}

static int64_t last_dim(const MwTensor *tensor)
{
    return tensor->dim[tensor->rank - 1];
}

bool mw_node_is_kernel(const MwNode *node)
{
    switch (mw_op_info(node->op)->lowering) {
    case MW_LOWER_MAP:
        return !mw_op_is_generator(node->op) && node->op != MW_OP_BROADCAST;
    case MW_LOWER_REDUCE:
    case MW_LOWER_ROWS:
    case MW_LOWER_GATHER:
        return true;
    case MW_LOWER_MOVE:
        return node->op == MW_OP_PAD || node->op == MW_OP_CONCAT;
    default:
        return false;
    }
}

MwReduction mw_node_reduction(const MwLegal *legal, const MwNode *node)
{
    const MwTensor *operand = mw_legal_operand_tensor(legal, node, 0);
    const MwAttr *axes = mw_node_attr(node, MW_ATTR_AXES);
    unsigned reduced = 0;
    for (int i = 0; i < axes->ints.count; i++)
        reduced |= 1u << axes->ints.at[i];
    int64_t reduced_points = 1, kept_points = 1;
    int last = -1; /* the last dimension that is not 1 */
    for (int d = 0; d < operand->rank; d++) {
        bool is_reduced = reduced >> d & 1;
        *(is_reduced ? &reduced_points : &kept_points) *= operand->dim[d];
        last = operand->dim[d] > 1 ? d : last;
    }
    bool down = last >= 0 && !(reduced >> last & 1);
    MwReduction reduction = {.level = down ? MW_LEVEL_COLUMN : MW_LEVEL_ROW,
                             .columns = down ? kept_points : reduced_points};
    if (kept_points == 1)
        reduction.level = MW_LEVEL_TOTAL;
    int at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < operand->rank; d++)
            if ((reduced >> d & 1) == (unsigned)(down ? !pass : pass))
                reduction.perm[at++] = d;
    return reduction;
}

static MwNodeSpace reduction_space(const MwLegal *legal, const MwNode *node)
{
    MwReduction reduction = mw_node_reduction(legal, node);
    return (MwNodeSpace){.points = mw_tensor_elements(mw_legal_operand_tensor(legal, node, 0)),
                         .columns = reduction.level == MW_LEVEL_TOTAL ? 0 : reduction.columns,
                         .result_level = reduction.level};
}

MwNodeSpace mw_node_space(const MwLegal *legal, const MwNode *node)
{
    const MwTensor *result = result_tensor(legal, node);
    MwNodeSpace space = {.points = mw_tensor_elements(result), .result_level = MW_LEVEL_POINT};
    switch (node->op) {
    case MW_OP_REDUCE_SUM:
    case MW_OP_REDUCE_MAX:
        return reduction_space(legal, node);
    case MW_OP_SCAN_OUT:
        space.points = mw_tensor_elements(mw_legal_operand_tensor(legal, node, 0));
        return space;
    case MW_OP_LOGSUMEXP:
        space.points = mw_tensor_elements(mw_legal_operand_tensor(legal, node, 0));
        space.columns = last_dim(mw_legal_operand_tensor(legal, node, 0));
        space.result_level = MW_LEVEL_ROW;
        return space;
    case MW_OP_SOFTMAX:
    case MW_OP_SOFTMAX_GRAD:
    case MW_OP_LOG_SOFTMAX:
    case MW_OP_LOG_SOFTMAX_GRAD:
    case MW_OP_LAYER_NORM:
    case MW_OP_LAYER_NORM_GRAD:
    case MW_OP_RMS_NORM:
    case MW_OP_RMS_NORM_GRAD:
        space.columns = last_dim(result);
        return space;
    default:
        space.is_alone = mw_op_has_own_loops(node->op);
        return space;
    }
}

bool mw_node_gathers(const MwLegal *legal, const MwNode *node, int k, int64_t *stride,
                     int64_t *entries)
{
    const MwLookup *lookup = mw_op_lookup(node->op);
    if (!lookup || k != lookup->table)
        return false;
    const MwTensor *table = mw_legal_operand_tensor(legal, node, k);
    const int axis = mw_lookup_axis(lookup, table);
    *entries = table->dim[axis];
    MW_ASSERT(
        mw_layout_stride(&mw_legal_operand_view(legal, node, k)->layout, table, axis, stride));
    return true;
}

/* The layout of entry 0 of a looked-up operand. */
static MwLayout first_entry(const MwLegal *legal, const MwNode *node, int k, int axis)
{
    MwLayout layout = legal->views.at[node->operands[k].index].layout;
    MW_ASSERT(mw_layout_slice(&layout, mw_legal_operand_tensor(legal, node, k), axis, 0, 1));
    return layout;
}

MwLayout mw_node_access(const MwLegal *legal, const MwNode *node, int k)
{
    const MwTensor *operand = mw_legal_operand_tensor(legal, node, k);
    const MwTensor *result = result_tensor(legal, node);
    MwLayout layout = legal->views.at[node->operands[k].index].layout;
    switch (node->op) {
    case MW_OP_REDUCE_SUM:
    case MW_OP_REDUCE_MAX: {
        MwReduction reduction = mw_node_reduction(legal, node);
        return mw_layout_transpose(&layout, operand, reduction.perm);
    }
    case MW_OP_LOGSUMEXP:
    case MW_OP_SCAN_OUT:
        return layout;
    case MW_OP_FLIP:
        mw_layout_flip(&layout, operand, (int)mw_node_int(node, MW_ATTR_AXIS));
        return layout;
    case MW_OP_LOGSUMEXP_GRAD:
        if (k > 0)
            mw_layout_repeat_inside(&layout, last_dim(result));
        return layout;
    case MW_OP_PICK_GRAD:
        mw_layout_repeat_inside(&layout, last_dim(result));
        return layout;
    case MW_OP_PICK:
        return k == 0 ? first_entry(legal, node, 0, operand->rank - 1) : layout;
    case MW_OP_TAKE_ALONG:
        if (k == 0) {
            layout = first_entry(legal, node, 0, operand->rank - 1);
            mw_layout_repeat_inside(&layout, last_dim(result));
        }
        return layout;
    case MW_OP_EMBEDDING:
        if (k == 0) {
            mw_layout_repeat_inside(&layout, last_dim(result));
        } else {
            layout = first_entry(legal, node, 1, 0);
            mw_layout_repeat_outside(&layout, mw_tensor_elements(result) / last_dim(result));
        }
        return layout;
    default:
        return mw_layout_broadcast(&layout, operand, result);
    }
}

MwLayout mw_node_store(const MwLegal *legal, const MwNode *node, int k)
{
    const MwTensor *tensor = &legal->graph->values.at[node->first_result + k].tensor;
    MwLayout layout = mw_layout_dense(tensor);
    if (node->op == MW_OP_SCAN_OUT)
        MW_ASSERT(mw_layout_scan(&layout, tensor, (int)mw_node_int(node, MW_ATTR_AXIS),
                                 mw_node_int(node, MW_ATTR_REVERSE)));
    return layout;
}

bool mw_node_places(const MwLegal *legal, const MwNode *node, MwLayout *places)
{
    if (node->op != MW_OP_DROPOUT && node->op != MW_OP_UNIFORM && node->op != MW_OP_CAST_STOCHASTIC)
        return false;
    const MwTensor *tensor = result_tensor(legal, node);
    const MwAttr *origin = mw_node_attr(node, MW_ATTR_ORIGIN);
    *places = mw_layout_dense(tensor);
    int at = places->dim_count;
    int64_t stride = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        if (tensor->dim[d] > 1)
            places->stride[--at] = stride;
        stride *= origin->ints.count ? origin->ints.at[d] : tensor->dim[d];
    }
    return true;
}
