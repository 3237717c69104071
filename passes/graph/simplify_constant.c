/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of simplify for operators whose operands are constants. A constant has one value in all
 * its elements, so the result has too, and an operator that only moves elements leaves it as it
 * is. Values are computed in double precision. Three cases are left to run time: an i32 result
 * that overflows, a result that is not finite, and bf16, which rounds at every operator. */
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

/* A cast to i32 drops the fraction; a cast to bool compares with zero. */
static double cast(MwType to, double x)
{
    if (to == MW_I32)
        return trunc(x);
    return to == MW_BOOL ? x != 0 : x;
}

static bool fold(const MwSimplifyContext *context, const double *operand, double *y)
{
    const MwNode *node = context->node;
    if (node->op == MW_OP_CAST)
        *y = cast(mw_simplify_tensor(context)->type, operand[0]);
    else if (moves_elements(node->op))
        *y = operand[0];
    else if (mw_arithmetic_kind(node->op) != MW_ARITHMETIC_NONE)
        *y = mw_arithmetic_apply(node->op, operand[0], operand[1]);
    else
        return false;
    return true;
}

static bool fits(double y, MwType type)
{
    if (type == MW_I32)
        return y >= INT32_MIN && y <= INT32_MAX;
    return isfinite(y);
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
            mw_value_tensor(graph, context->operands[k])->type == MW_BF16)
            return mw_no_value();
    const MwTensor *tensor = mw_simplify_tensor(context);
    if (tensor->type == MW_BF16 || !fold(context, operand, &y) || !fits(y, tensor->type))
        return mw_no_value();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, tensor->type), mw_attr_shape(graph->arena, tensor),
                      mw_attr_float(MW_ATTR_VALUE, y)};
    return mw_simplify_emit(context, MW_OP_CONSTANT, NULL, 0, attrs, MW_COUNT(attrs));
}
