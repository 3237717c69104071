/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of simplify: identities that hold for every number, infinities and NaN included, up to
 * the sign of zero. */
#include "passes/graph/simplify_rules.h"

#include "ir/build.h"
#include "ir/einsum.h"

static const MwNode *operand_node(const MwSimplifyContext *context, int k)
{
    return mw_value_node(context->rewrite->to, context->operands[k]);
}

static const MwTensor *operand_tensor(const MwSimplifyContext *context, int k)
{
    return mw_value_tensor(context->rewrite->to, context->operands[k]);
}

/* Returns `value` if it has the type of the node's result, that is, if nothing is broadcast;
 * otherwise no value. */
static MwValueId if_same_type(const MwSimplifyContext *context, MwValueId value)
{
    bool same =
        mw_tensor_equal(mw_value_tensor(context->rewrite->to, value), mw_simplify_tensor(context));
    return same ? value : mw_no_value();
}

static bool operand_is(const MwSimplifyContext *context, int k, double wanted)
{
    double constant;
    return mw_value_is_constant(context->rewrite->to, context->operands[k], &constant) &&
           constant == wanted;
}

static bool is_op(const MwSimplifyContext *context, int k, MwOp op)
{
    return operand_node(context, k)->op == op;
}

static MwValueId emit_binary(const MwSimplifyContext *context, MwOp op, MwValueId a, MwValueId b)
{
    return mw_simplify_emit(context, op, (MwValueId[]){a, b}, 2, NULL, 0);
}

/* x + 0; x + -y */
static MwValueId simplify_add(const MwSimplifyContext *context)
{
    for (int k = 0; k < 2; k++) {
        MwValueId other = context->operands[1 - k];
        if (operand_is(context, k, 0) && mw_has_value(if_same_type(context, other)))
            return other;
        if (is_op(context, k, MW_OP_NEG))
            return emit_binary(context, MW_OP_SUB, other, operand_node(context, k)->operands[0]);
    }
    return mw_no_value();
}

/* x - 0; 0 - x; x - -y */
static MwValueId simplify_sub(const MwSimplifyContext *context)
{
    const MwValueId *operands = context->operands;
    if (operand_is(context, 1, 0))
        return if_same_type(context, operands[0]);
    if (operand_is(context, 0, 0) && mw_has_value(if_same_type(context, operands[1])))
        return mw_simplify_emit(context, MW_OP_NEG, &operands[1], 1, NULL, 0);
    if (is_op(context, 1, MW_OP_NEG))
        return emit_binary(context, MW_OP_ADD, operands[0], operand_node(context, 1)->operands[0]);
    return mw_no_value();
}

/* x * 1; x * -1 */
static MwValueId simplify_mul(const MwSimplifyContext *context)
{
    for (int k = 0; k < 2; k++) {
        MwValueId other = if_same_type(context, context->operands[1 - k]);
        if (!mw_has_value(other))
            continue;
        if (operand_is(context, k, 1))
            return other;
        if (operand_is(context, k, -1))
            return mw_simplify_emit(context, MW_OP_NEG, &other, 1, NULL, 0);
    }
    return mw_no_value();
}

/* x / 1; x to the power 1 */
static MwValueId simplify_by_one(const MwSimplifyContext *context)
{
    if (operand_is(context, 1, 1))
        return if_same_type(context, context->operands[0]);
    return mw_no_value();
}

/* --x; -(x - y) */
static MwValueId simplify_neg(const MwSimplifyContext *context)
{
    const MwNode *inner = operand_node(context, 0);
    if (inner->op == MW_OP_NEG)
        return inner->operands[0];
    if (inner->op == MW_OP_SUB)
        return emit_binary(context, MW_OP_SUB, inner->operands[1], inner->operands[0]);
    return mw_no_value();
}

static MwValueId simplify_not(const MwSimplifyContext *context)
{
    const MwNode *inner = operand_node(context, 0);
    return inner->op == MW_OP_NOT ? inner->operands[0] : mw_no_value();
}

/* Simplifies an operator for which f(x, x) = x. */
static MwValueId simplify_idempotent(const MwSimplifyContext *context)
{
    bool same = mw_value_equal(context->operands[0], context->operands[1]);
    return same ? context->operands[0] : mw_no_value();
}

static MwValueId simplify_select(const MwSimplifyContext *context)
{
    const MwValueId *operands = context->operands;
    double condition;
    if (mw_value_equal(operands[1], operands[2]))
        return if_same_type(context, operands[1]);
    if (mw_value_is_constant(context->rewrite->to, operands[0], &condition))
        return if_same_type(context, operands[condition != 0 ? 1 : 2]);
    return mw_no_value();
}

/* A cast to the type that the operand has, unless types still change; a cast to a
 * float of 16 or 8 bits of a value that was cast from that type to f32. */
static MwValueId simplify_cast(const MwSimplifyContext *context)
{
    MwType to = mw_simplify_tensor(context)->type;
    if (operand_tensor(context, 0)->type == to)
        return mw_type_is_half(context->rewrite->from->precision) ? mw_no_value()
                                                                  : context->operands[0];
    const MwNode *inner = operand_node(context, 0);
    if (inner->op == MW_OP_CAST && mw_type_is_narrow(to) &&
        operand_tensor(context, 0)->type == MW_F32)
        return if_same_type(context, inner->operands[0]);
    return mw_no_value();
}

/* An operator that returns its operand if it does not change the type. */
static MwValueId simplify_if_same_type(const MwSimplifyContext *context)
{
    return if_same_type(context, context->operands[0]);
}

/* Gradients have been taken, or never will be. */
static MwValueId simplify_stop_gradient(const MwSimplifyContext *context)
{
    const MwGraph *graph = context->rewrite->from;
    bool is_over = graph->trains.count == 0 || mw_graph_has_phase(graph, MW_PHASE_BACKWARD);
    return is_over ? context->operands[0] : mw_no_value();
}

static MwValueId simplify_dropout(const MwSimplifyContext *context)
{
    return mw_node_float(context->node, MW_ATTR_RATE) == 0 ? context->operands[0] : mw_no_value();
}

/* `x` in the shape of the result by `op`, RESHAPE or BROADCAST, with nested ones removed. */
static MwValueId shaped(const MwSimplifyContext *context, MwOp op, MwValueId x)
{
    MwGraph *graph = context->rewrite->to;
    MwValueId same = if_same_type(context, x);
    if (!mw_has_value(same) && mw_value_node(graph, x)->op == op) {
        x = mw_value_node(graph, x)->operands[0];
        same = if_same_type(context, x);
    }
    MwAttr shape = mw_attr_shape(graph->arena, mw_simplify_tensor(context));
    return mw_has_value(same) ? same : mw_simplify_emit(context, op, &x, 1, &shape, 1);
}

/* A change to the same shape; a reshape of a reshape, a broadcast of a broadcast. */
static MwValueId simplify_shaped(const MwSimplifyContext *context)
{
    MwValueId x = context->operands[0];
    bool may = mw_has_value(if_same_type(context, x)) || is_op(context, 0, context->node->op);
    return may ? shaped(context, context->node->op, x) : mw_no_value();
}

/* True if the dimensions other than 1 keep their order, so that no element moves. */
static bool moves_nothing(const int64_t *perm, const MwTensor *operand)
{
    int64_t last = -1;
    for (int i = 0; i < operand->rank; i++) {
        if (operand->dim[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

static MwValueId simplify_transpose(const MwSimplifyContext *context)
{
    const MwAttr *perm = mw_node_attr(context->node, MW_ATTR_PERM);
    bool is_identity = true;
    for (int i = 0; i < perm->ints.count; i++)
        is_identity &= perm->ints.at[i] == i;
    if (is_identity)
        return context->operands[0];
    if (moves_nothing(perm->ints.at, operand_tensor(context, 0)))
        return shaped(context, MW_OP_RESHAPE, context->operands[0]);
    const MwNode *inner = operand_node(context, 0);
    if (inner->op != MW_OP_TRANSPOSE)
        return mw_no_value();
    const MwAttr *first = mw_node_attr(inner, MW_ATTR_PERM);
    int64_t both[MW_MAX_RANK];
    is_identity = true;
    for (int i = 0; i < perm->ints.count; i++) {
        both[i] = first->ints.at[perm->ints.at[i]];
        is_identity &= both[i] == i;
    }
    if (is_identity)
        return inner->operands[0];
    MwAttr attr = mw_attr_ints(MW_ATTR_PERM, both, perm->ints.count);
    return mw_simplify_emit(context, MW_OP_TRANSPOSE, &inner->operands[0], 1, &attr, 1);
}

/* A reduction over dimensions of size 1 only. */
static MwValueId simplify_reduce(const MwSimplifyContext *context)
{
    const MwTensor *from = operand_tensor(context, 0), *to = mw_simplify_tensor(context);
    if (mw_tensor_elements(from) != mw_tensor_elements(to) || from->type != to->type)
        return mw_no_value();
    return shaped(context, MW_OP_RESHAPE, context->operands[0]);
}

/* An einsum of one operand whose letters are those of the result, in order. */
static MwValueId simplify_einsum(const MwSimplifyContext *context)
{
    MwEinsum einsum;
    MW_ASSERT(!mw_einsum_parse(mw_node_text(context->node, MW_ATTR_EQUATION), &einsum));
    bool is_identity = einsum.operand_count == 1 && einsum.rank[0] == einsum.result_rank;
    for (int d = 0; is_identity && d < einsum.result_rank; d++)
        is_identity = einsum.operand[0][d] == einsum.result[d];
    return is_identity ? if_same_type(context, context->operands[0]) : mw_no_value();
}

/* A concatenation of one operand, or of all results of a split in order. */
static MwValueId simplify_concat(const MwSimplifyContext *context)
{
    int count = context->node->operand_count;
    if (count == 1)
        return context->operands[0];
    const MwNode *split = operand_node(context, 0);
    if (split->op != MW_OP_SPLIT || split->result_count != count ||
        mw_node_int(split, MW_ATTR_AXIS) != mw_node_int(context->node, MW_ATTR_AXIS))
        return mw_no_value();
    for (int k = 0; k < count; k++)
        if (context->operands[k].index != split->first_result + k)
            return mw_no_value();
    return split->operands[0];
}

MwValueId mw_simplify_identity(const MwSimplifyContext *context)
{
    switch (context->node->op) {
    case MW_OP_ADD:
        return simplify_add(context);
    case MW_OP_SUB:
        return simplify_sub(context);
    case MW_OP_MUL:
        return simplify_mul(context);
    case MW_OP_DIV:
    case MW_OP_POW:
        return simplify_by_one(context);
    case MW_OP_NEG:
        return simplify_neg(context);
    case MW_OP_NOT:
        return simplify_not(context);
    case MW_OP_MAXIMUM:
    case MW_OP_MINIMUM:
    case MW_OP_AND:
    case MW_OP_OR:
        return simplify_idempotent(context);
    case MW_OP_SELECT:
        return simplify_select(context);
    case MW_OP_CAST:
        return simplify_cast(context);
    case MW_OP_IDENTITY:
    case MW_OP_SLICE:
    case MW_OP_PAD:
        return simplify_if_same_type(context);
    case MW_OP_SPLIT:
        return context->node->result_count == 1 ? context->operands[0] : mw_no_value();
    case MW_OP_STOP_GRADIENT:
        return simplify_stop_gradient(context);
    case MW_OP_DROPOUT:
        return simplify_dropout(context);
    case MW_OP_RESHAPE:
    case MW_OP_BROADCAST:
        return simplify_shaped(context);
    case MW_OP_TRANSPOSE:
        return simplify_transpose(context);
    case MW_OP_REDUCE_SUM:
    case MW_OP_REDUCE_MAX:
        return simplify_reduce(context);
    case MW_OP_EINSUM:
        return simplify_einsum(context);
    case MW_OP_CONCAT:
        return simplify_concat(context);
    default:
        return mw_no_value();
    }
}
