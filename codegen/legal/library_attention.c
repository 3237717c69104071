/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention and its gradients: operands in the form that the routines take, and the arguments of a
 * call.
 *
 * The routines walk q, k and v by rows: element (b, s, h, d) of a value [B, S, H, D] lies at offset
 * + (b * S + s) * row + h * D + d. So slices of one projection are taken in place. They write dq,
 * dk and dv in the same way: into the gradient of such a projection. Other operands are dense. */
#include "codegen/legal/legalize_rules.h"
#include "codegen/legal/library.h"
#include "codegen/legal/library_args.h"
#include "runtime/plan/routine.h"

enum { WALKED = 3 /* operands: q, k, v; results: dq, dk, dv */ };

static bool is_forward(MwOp op)
{
    return op == MW_OP_SDPA || op == MW_OP_SDPA_MASKED;
}

/* Whether the results are the gradients of q, k and v. */
static bool gives_walked(MwOp op)
{
    return op == MW_OP_SDPA_GRAD || op == MW_OP_SDPA_MASKED_GRAD;
}

/* The operand that is the mask; -1: there is none. */
static int mask_operand(MwOp op)
{
    if (op == MW_OP_SDPA || op == MW_OP_SDPA_GRAD)
        return -1;
    return is_forward(op) ? WALKED : 6;
}

/* Whether the rows of a value have one stride; stores it, in elements. */
static bool find_row(const MwLayout *layout, const MwTensor *tensor, int64_t *row)
{
    int64_t inner = tensor->dim[2] * tensor->dim[3], rows = tensor->dim[0] * tensor->dim[1];
    MwLayout cut = *layout;
    mw_layout_collapse(&cut);
    if (!mw_layout_is_fixed(layout) || !mw_layout_cut(&cut, inner))
        return false;
    int at = cut.dim_count;
    if (inner > 1 && (at == 0 || cut.size[--at] != inner || cut.stride[at] != 1))
        return false;
    if (rows > 1 && (at == 0 || cut.size[--at] != rows))
        return false;
    *row = rows > 1 ? cut.stride[at] : inner;
    return at == 0;
}

/* ---- Operands ---- */

/* The type that the routine takes operand k in: that of q, save that the log-sum-exp is always
 * f32, and a mask of bools stays one. */
static MwType type_of_operand(const MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                              int k)
{
    const MwType given = mw_legal_tensor(l, operands[k])->type;
    const bool is_lse = k == mw_op_lse_operand(node->op);
    if (given == MW_BOOL)
        return given;
    return l->legal->backend->takes_halves && !is_lse ? mw_legal_tensor(l, operands[0])->type
                                                      : MW_F32;
}

void mw_legal_attention(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                        MwValueId *results)
{
    MwValueId *taken = MW_NEW(l->legal->graph->arena, MwValueId, node->operand_count);
    int64_t row;
    for (int k = 0; k < node->operand_count; k++) {
        const MwType type = type_of_operand(l, node, operands, k);
        taken[k] = mw_legal_cast(l, operands[k], type);
        if (k >= WALKED ||
            !find_row(&mw_legal_view(l, taken[k])->layout, mw_legal_tensor(l, taken[k]), &row))
            taken[k] = mw_legal_dense(l, taken[k], type);
    }
    mw_legal_call(l, node, taken, results);
}

/* ---- Arguments ---- */

bool mw_library_place_result(const MwLegal *legal, const MwNode *node, int k,
                             const MwLayout *layout, MwPlanArg *args)
{
    static const int rows[WALKED] = {MW_SDPA_DQ_ROW, MW_SDPA_DK_ROW, MW_SDPA_DV_ROW};
    static const int offsets[WALKED] = {MW_SDPA_DQ_OFFSET, MW_SDPA_DK_OFFSET, MW_SDPA_DV_OFFSET};
    const MwTensor *result = mw_value_tensor(legal->graph, (MwValueId){node->first_result + k});
    int64_t row;
    if (!gives_walked(node->op) || !find_row(layout, result, &row) ||
        layout->offset + result->dim[2] * result->dim[3] > row)
        return false;
    args[rows[k]].i = row;
    args[offsets[k]].i = layout->offset;
    return true;
}

/* The position in its sequence of element 0 of this device's `length` queries or keys, which may be
 * split over mesh axes; `key` is the origin of the sequence. Of half a block of queries, that of
 * the block. */
static MwPlanArg position_of(const MwNode *node, MwAttrKey key, int64_t length)
{
    const MwAttr *origin = mw_node_attr(node, key);
    MwPlanArg arg = {.kind = MW_ARG_INT};
    if (!origin->ints.count)
        return arg;
    const MwAxes axes = mw_spec_dim(mw_node_spec(node, key + 1), 1);
    const MwAttr *half = mw_node_attr(node, MW_ATTR_QUERY_HALF);
    if (key == MW_ATTR_ORIGIN && half->ints.count)
        return (MwPlanArg){.kind = half->ints.at[0] ? MW_ARG_MIRRORED : MW_ARG_POSITION,
                           .axes = axes,
                           .block_stride = 2 * length};
    const MwAttr *shift = mw_node_attr(node, MW_ATTR_KEY_SHIFT);
    if (key == MW_ATTR_KEY_ORIGIN && shift->ints.count)
        return (MwPlanArg){.kind = MW_ARG_SHIFTED,
                           .axes = axes,
                           .block_stride = length,
                           .axis = (int)shift->ints.at[0],
                           .places = (int)shift->ints.at[1]};
    return axes ? (MwPlanArg){.kind = MW_ARG_POSITION, .axes = axes, .block_stride = length} : arg;
}

static void set_mask(const MwTensor *mask, MwPlanArg *args)
{
    static const int sizes[] = {MW_SDPA_MASK_B, MW_SDPA_MASK_H, MW_SDPA_MASK_S, MW_SDPA_MASK_T};
    args[MW_SDPA_MASK_TYPE].i = mask->type;
    for (int d = 0; d < MW_COUNT(sizes); d++)
        args[sizes[d]].i = mask->dim[d];
}

void mw_arguments_attention(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    static const int rows[WALKED] = {MW_SDPA_Q_ROW, MW_SDPA_K_ROW, MW_SDPA_V_ROW};
    static const int offsets[WALKED] = {MW_SDPA_Q_OFFSET, MW_SDPA_K_OFFSET, MW_SDPA_V_OFFSET};
    const MwTensor *q = mw_legal_operand_tensor(legal, node, 0),
                   *k = mw_legal_operand_tensor(legal, node, 1);
    args[MW_SDPA_B].i = q->dim[0];
    args[MW_SDPA_S].i = q->dim[1];
    args[MW_SDPA_T].i = k->dim[1];
    args[MW_SDPA_H].i = q->dim[2];
    args[MW_SDPA_G].i = k->dim[2];
    args[MW_SDPA_D].i = q->dim[3];
    args[MW_SDPA_CAUSAL].i = mw_node_int(node, MW_ATTR_CAUSAL);
    args[MW_SDPA_POSITION] = position_of(node, MW_ATTR_ORIGIN, q->dim[1]);
    args[MW_SDPA_KEY_POSITION] = position_of(node, MW_ATTR_KEY_ORIGIN, k->dim[1]);
    const MwAttr *window = mw_node_attr(node, MW_ATTR_WINDOW);
    args[MW_SDPA_WINDOW].i = window->ints.count ? window->ints.at[0] : 0;
    const MwAttr *offset = mw_node_attr(node, MW_ATTR_OFFSET);
    const MwAttr *half = mw_node_attr(node, MW_ATTR_QUERY_HALF);
    args[MW_SDPA_OFFSET].i = (offset->ints.count ? offset->ints.at[0] : 0) +
                             (half->ints.count ? half->ints.at[0] * q->dim[1] : 0);
    args[MW_SDPA_TYPE].i = q->type;
    args[MW_SDPA_SCALE].f = mw_node_float(node, MW_ATTR_SCALE);
    args[MW_SDPA_SOFT_CAP].f = mw_node_float(node, MW_ATTR_SOFT_CAP);
    if (mask_operand(node->op) >= 0)
        set_mask(mw_legal_operand_tensor(legal, node, mask_operand(node->op)), args);
    for (int i = 0; i < WALKED; i++) {
        const MwLayout *layout = &mw_legal_operand_view(legal, node, i)->layout;
        MW_ASSERT(find_row(layout, mw_legal_operand_tensor(legal, node, i), &args[rows[i]].i));
        args[offsets[i]].i = layout->offset;
    }
    for (int i = 0; i < node->result_count && gives_walked(node->op); i++) {
        const MwLayout dense =
            mw_layout_dense(mw_value_tensor(legal->graph, (MwValueId){node->first_result + i}));
        MW_ASSERT(mw_library_place_result(legal, node, i, &dense, args));
    }
}
