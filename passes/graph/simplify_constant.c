/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of simplify: operators whose operands are constants. A constant has one value in all its
 * elements, so the result has too, and whatever only moves elements leaves it as it is. Values are
 * worked out in double precision; an i32 result that overflows, or one that is not finite, is left
 * to run time, and so is bf16, which rounds at every operator. */
#include "passes/graph/simplify_rules.h"

#include "ir/build.h"

#include <math.h>

static bool unary(MwOp op, double x, double *y)
{
    switch (op) {
    case MW_OP_NEG:
        *y = -x;
        return true;
    case MW_OP_ABS:
        *y = fabs(x);
        return true;
    case MW_OP_EXP:
        *y = exp(x);
        return true;
    case MW_OP_LOG:
        *y = log(x);
        return true;
    case MW_OP_SQRT:
        *y = sqrt(x);
        return true;
    case MW_OP_RSQRT:
        *y = 1 / sqrt(x);
        return true;
    case MW_OP_SIN:
        *y = sin(x);
        return true;
    case MW_OP_COS:
        *y = cos(x);
        return true;
    case MW_OP_TANH:
        *y = tanh(x);
        return true;
    case MW_OP_NOT:
        *y = x == 0;
        return true;
    case MW_OP_RESHAPE:
    case MW_OP_BROADCAST:
    case MW_OP_TRANSPOSE:
    case MW_OP_SLICE:
    case MW_OP_IDENTITY:
        *y = x;
        return true;
    default:
        return false;
    }
}

static bool binary(MwOp op, double a, double b, double *y)
{
    switch (op) {
    case MW_OP_ADD:
        *y = a + b;
        return true;
    case MW_OP_SUB:
        *y = a - b;
        return true;
    case MW_OP_MUL:
        *y = a * b;
        return true;
    case MW_OP_DIV:
        *y = a / b;
        return true;
    case MW_OP_POW:
        *y = pow(a, b);
        return true;
    case MW_OP_MAXIMUM:
        *y = fmax(a, b);
        return true;
    case MW_OP_MINIMUM:
        *y = fmin(a, b);
        return true;
    case MW_OP_LT:
        *y = a < b;
        return true;
    case MW_OP_LE:
        *y = a <= b;
        return true;
    case MW_OP_GT:
        *y = a > b;
        return true;
    case MW_OP_GE:
        *y = a >= b;
        return true;
    case MW_OP_EQ:
        *y = a == b;
        return true;
    case MW_OP_NE:
        *y = a != b;
        return true;
    case MW_OP_AND:
        *y = a != 0 && b != 0;
        return true;
    case MW_OP_OR:
        *y = a != 0 || b != 0;
        return true;
    default:
        return false;
    }
}

/* To i32 a cast drops the fraction, to bool it asks for not zero. */
static double cast(MwType to, double x)
{
    if (to == MW_I32)
        return trunc(x);
    return to == MW_BOOL ? x != 0 : x;
}

static bool fold(const MwSimplifyContext *context, const double *operand, double *y)
{
    const MwNode *node = context->node;
    if (node->op == MW_OP_CAST) {
        *y = cast(mw_simplify_tensor(context)->type, operand[0]);
        return true;
    }
    if (node->operand_count == 1)
        return unary(node->op, operand[0], y);
    return node->operand_count == 2 && binary(node->op, operand[0], operand[1], y);
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
