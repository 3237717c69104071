/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of simplify for operators whose operands are constants. A constant has one value in all
 * its elements, so the result has too, and an operator that only moves elements leaves it as it
 * is. Values are computed in double precision. Three cases are left to run time: a result that
 * overflows its integer type, one that is not finite, and floats of 16 bits, which round at every
 * operator. */
#include "passes/graph/simplify_rules.h"

#include "ir/arithmetic.h"
#include "ir/build.h"

#include <math.h>

/* Whether the elements of the result are elements of the operand. */
static bool moves_elements(MwOp op)
{
    return op == MW_OP_RESHAPE || op == MW_OP_BROADCAST || op == MW_OP_TRANSPOSE ||
           op == MW_OP_SLICE || op == MW_OP_IDENTITY;
}

/* Of whole numbers a cast takes the low bits: one that the type lacks is left to run time. */
static double cast(MwType from, MwType to, double x)
{
    return mw_type_is_integer(from) && mw_type_is_integer(to) ? x : mw_type_clamp(to, x);
}

static bool fold(const MwSimplifyContext *context, const double *operand, double *y)
{
    const MwNode *node = context->node;
    if (node->op == MW_OP_CAST)
        *y = cast(mw_value_tensor(context->rewrite->to, context->operands[0])->type,
                  mw_simplify_tensor(context)->type, operand[0]);
    else if (moves_elements(node->op))
        *y = operand[0];
    else if (mw_arithmetic_kind(node->op) != MW_ARITHMETIC_NONE)
        *y = mw_arithmetic_apply(node->op, operand[0], operand[1]);
    else
        return false;
    return true;
}

MwValueId mw_simplify_constant(const MwSimplifyContext *context)
{
    const MwNode *node = context->node;
    const MwGraph *graph = context->rewrite->to;
    double operand[2] = {0}, y;
    if (node->operand_count < 1 || node->operand_count > 2)
        return mw_no_value();
    for (int k = 0; k < node->operand_count; k++)
        if (!mw_value_is_constant(graph, context->operands[k], &operand[k]) ||
            mw_type_is_narrow(mw_value_tensor(graph, context->operands[k])->type))
            return mw_no_value();
    const MwTensor *tensor = mw_simplify_tensor(context);
    if (mw_type_is_narrow(tensor->type) || !fold(context, operand, &y) || !isfinite(y) ||
        !mw_type_holds(tensor->type, y))
        return mw_no_value();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, tensor->type), mw_attr_shape(graph->arena, tensor),
                      mw_attr_float(MW_ATTR_VALUE, y)};
    return mw_simplify_emit(context, MW_OP_CONSTANT, NULL, 0, attrs, MW_COUNT(attrs));
}
