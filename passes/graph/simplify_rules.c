/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/graph/simplify_rules.h"

#include "ir/build.h"

const MwTensor *mw_simplify_tensor(const MwSimplifyContext *context)
{
    return &context->rewrite->from->values.at[context->node->first_result].tensor;
}

MwValueId mw_simplify_emit(const MwSimplifyContext *context, MwOp op, const MwValueId *operands,
                           int operand_count, const MwAttr *attrs, int attr_count)
{
    mw_rewrite_at(context->rewrite, context->node);
    const char *name = context->rewrite->from->values.at[context->node->first_result].name;
    return mw_build(context->rewrite->to, name, op, operands, operand_count, attrs, attr_count);
}

bool mw_value_is_constant(const MwGraph *graph, MwValueId value, double *constant)
{
    const MwNode *node = mw_value_node(graph, value);
    if (node->op != MW_OP_CONSTANT)
        return false;
    *constant = mw_node_float(node, MW_ATTR_VALUE);
    return true;
}
