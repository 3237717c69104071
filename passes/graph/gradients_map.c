/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of element-wise operators: d is the gradient by the result y. Where the derivative
 * does not exist (relu and abs at 0, ties of maximum and minimum), it is that of PyTorch: 0, and
 * half for each operand. */
#include "passes/graph/gradient_terms.h"

#include <math.h>

void mw_gradient_unbroadcast(MwGradient *g, int k, MwValueId gradient)
{
    MwTensor operand = mw_gradient_tensor(g, k);
    operand.type = g->types[k];
    g->operands[k] = mw_build_sum_to(g->graph, gradient, &operand);
}

void mw_gradient_add(MwGradient *g)
{
    for (int k = 0; k < 2; k++)
        if (g->wanted[k])
            mw_gradient_unbroadcast(g, k, g->results[0]);
}

void mw_gradient_sub(MwGradient *g)
{
    if (g->wanted[0])
        mw_gradient_unbroadcast(g, 0, g->results[0]);
    if (g->wanted[1])
        mw_gradient_unbroadcast(g, 1, neg(g, g->results[0]));
}

void mw_gradient_mul(MwGradient *g)
{
    for (int k = 0; k < 2; k++)
        if (g->wanted[k])
            mw_gradient_unbroadcast(g, k, mul(g, g->results[0], mw_gradient_operand(g, 1 - k)));
}

/* d / b and -(d / b) y */
void mw_gradient_div(MwGradient *g)
{
    MwValueId quotient =
        mw_build_binary(g->graph, MW_OP_DIV, g->results[0], mw_gradient_operand(g, 1));
    if (g->wanted[0])
        mw_gradient_unbroadcast(g, 0, quotient);
    if (g->wanted[1])
        mw_gradient_unbroadcast(g, 1, neg(g, mul(g, quotient, mw_gradient_result(g, 0))));
}

/* Gives operand k no gradient where `loses` holds between it and the other operand, d / 2 at ties,
 * and d elsewhere, so that NaN is passed on. */
static void gradient_of_choice(MwGradient *g, MwOp loses)
{
    MwValueId d = g->results[0];
    for (int k = 0; k < 2; k++) {
        if (!g->wanted[k])
            continue;
        MwValueId own = mw_gradient_operand(g, k), other = mw_gradient_operand(g, 1 - k);
        MwValueId tie = mw_build_binary(g->graph, MW_OP_EQ, own, other);
        MwValueId otherwise = mw_build_select(g->graph, tie, scaled(g, d, 0.5), d);
        MwValueId lost = mw_build_binary(g->graph, loses, own, other);
        mw_gradient_unbroadcast(g, k,
                                mw_build_select(g->graph, lost, scalar_like(g, 0), otherwise));
    }
}

void mw_gradient_maximum(MwGradient *g)
{
    gradient_of_choice(g, MW_OP_LT);
}

void mw_gradient_minimum(MwGradient *g)
{
    gradient_of_choice(g, MW_OP_GT);
}

/* d b a^(b - 1), which is 0 at b = 0 whatever a */
static MwValueId gradient_of_base(const MwGradient *g)
{
    MwValueId base = mw_gradient_operand(g, 0), exponent = mw_gradient_operand(g, 1);
    MwValueId zero = scalar_like(g, 0);
    MwValueId less = mw_build_binary(g->graph, MW_OP_SUB, exponent, scalar_like(g, 1));
    MwValueId power = mw_build_binary(g->graph, MW_OP_POW, base, less);
    MwValueId slope = mul(g, g->results[0], mul(g, exponent, power));
    MwValueId is_zero = mw_build_binary(g->graph, MW_OP_EQ, exponent, zero);
    return mw_build_select(g->graph, is_zero, zero, slope);
}

/* d y log(a), which is 0 at a = 0 */
static MwValueId gradient_of_exponent(const MwGradient *g)
{
    MwValueId base = mw_gradient_operand(g, 0), zero = scalar_like(g, 0);
    MwValueId log = mw_build_unary(g->graph, MW_OP_LOG, base);
    MwValueId slope = mul(g, g->results[0], mul(g, mw_gradient_result(g, 0), log));
    MwValueId is_zero = mw_build_binary(g->graph, MW_OP_EQ, base, zero);
    return mw_build_select(g->graph, is_zero, zero, slope);
}

void mw_gradient_pow(MwGradient *g)
{
    if (g->wanted[0])
        mw_gradient_unbroadcast(g, 0, gradient_of_base(g));
    if (g->wanted[1])
        mw_gradient_unbroadcast(g, 1, gradient_of_exponent(g));
}

void mw_gradient_neg(MwGradient *g)
{
    g->operands[0] = neg(g, g->results[0]);
}

void mw_gradient_abs(MwGradient *g)
{
    MwValueId sign = mw_build_unary(g->graph, MW_OP_SIGN, mw_gradient_operand(g, 0));
    g->operands[0] = mul(g, g->results[0], sign);
}

void mw_gradient_exp(MwGradient *g)
{
    g->operands[0] = mul(g, g->results[0], mw_gradient_result(g, 0));
}

void mw_gradient_log(MwGradient *g)
{
    g->operands[0] = mw_build_binary(g->graph, MW_OP_DIV, g->results[0], mw_gradient_operand(g, 0));
}

/* d / 2y */
void mw_gradient_sqrt(MwGradient *g)
{
    g->operands[0] = mw_build_binary(g->graph, MW_OP_DIV, scaled(g, g->results[0], 0.5),
                                     mw_gradient_result(g, 0));
}

/* -d y^3 / 2 */
void mw_gradient_rsqrt(MwGradient *g)
{
    MwValueId y = mw_gradient_result(g, 0);
    g->operands[0] = mul(g, scaled(g, g->results[0], -0.5), mul(g, y, mul(g, y, y)));
}

void mw_gradient_sin(MwGradient *g)
{
    MwValueId slope = mw_build_unary(g->graph, MW_OP_COS, mw_gradient_operand(g, 0));
    g->operands[0] = mul(g, g->results[0], slope);
}

void mw_gradient_cos(MwGradient *g)
{
    MwValueId slope = mw_build_unary(g->graph, MW_OP_SIN, mw_gradient_operand(g, 0));
    g->operands[0] = neg(g, mul(g, g->results[0], slope));
}

static MwValueId one_minus(const MwGradient *g, MwValueId x)
{
    return mw_build_binary(g->graph, MW_OP_SUB, scalar_like(g, 1), x);
}

/* Of a function whose derivative is 0 wherever it exists. */
void mw_gradient_zero(MwGradient *g)
{
    (void)g;
}

/* d (y + 1) */
void mw_gradient_expm1(MwGradient *g)
{
    MwValueId slope =
        mw_build_binary(g->graph, MW_OP_ADD, mw_gradient_result(g, 0), scalar_like(g, 1));
    g->operands[0] = mul(g, g->results[0], slope);
}

/* d / (1 + x) */
void mw_gradient_log1p(MwGradient *g)
{
    MwValueId more =
        mw_build_binary(g->graph, MW_OP_ADD, mw_gradient_operand(g, 0), scalar_like(g, 1));
    g->operands[0] = mw_build_binary(g->graph, MW_OP_DIV, g->results[0], more);
}

/* d (1 + y^2) */
void mw_gradient_tan(MwGradient *g)
{
    MwValueId y = mw_gradient_result(g, 0);
    MwValueId slope = mw_build_binary(g->graph, MW_OP_ADD, mul(g, y, y), scalar_like(g, 1));
    g->operands[0] = mul(g, g->results[0], slope);
}

/* d x / (x^2 + y^2) and -d y / (x^2 + y^2) */
void mw_gradient_atan2(MwGradient *g)
{
    MwValueId y = mw_gradient_operand(g, 0), x = mw_gradient_operand(g, 1);
    MwValueId square = mw_build_binary(g->graph, MW_OP_ADD, mul(g, x, x), mul(g, y, y));
    MwValueId part = mw_build_binary(g->graph, MW_OP_DIV, g->results[0], square);
    if (g->wanted[0])
        mw_gradient_unbroadcast(g, 0, mul(g, part, x));
    if (g->wanted[1])
        mw_gradient_unbroadcast(g, 1, neg(g, mul(g, part, y)));
}

/* d and -d (a // b), since a % b = a - b (a // b) */
void mw_gradient_mod(MwGradient *g)
{
    MwValueId a = mw_gradient_operand(g, 0), b = mw_gradient_operand(g, 1);
    if (g->wanted[0])
        mw_gradient_unbroadcast(g, 0, g->results[0]);
    if (g->wanted[1])
        mw_gradient_unbroadcast(
            g, 1, neg(g, mul(g, g->results[0], mw_build_binary(g->graph, MW_OP_FLOOR_DIV, a, b))));
}

void mw_gradient_softplus(MwGradient *g)
{
    MwValueId slope = mw_build_unary(g->graph, MW_OP_SIGMOID, mw_gradient_operand(g, 0));
    g->operands[0] = mul(g, g->results[0], slope);
}

/* d (1 - y^2) */
void mw_gradient_tanh(MwGradient *g)
{
    MwValueId y = mw_gradient_result(g, 0);
    g->operands[0] = mul(g, g->results[0], one_minus(g, mul(g, y, y)));
}

/* d (2 / sqrt(pi)) exp(-x^2) */
void mw_gradient_erf(MwGradient *g)
{
    MwValueId x = mw_gradient_operand(g, 0);
    MwValueId bell = mw_build_unary(g->graph, MW_OP_EXP, neg(g, mul(g, x, x)));
    g->operands[0] = mul(g, scaled(g, g->results[0], M_2_SQRTPI), bell);
}

/* d y (1 - y) */
void mw_gradient_sigmoid(MwGradient *g)
{
    MwValueId y = mw_gradient_result(g, 0);
    g->operands[0] = mul(g, g->results[0], mul(g, y, one_minus(g, y)));
}

/* Uses y, not x: the gradients of its users need y in any case. */
void mw_gradient_relu(MwGradient *g)
{
    MwValueId zero = scalar_like(g, 0);
    MwValueId is_off = mw_build_binary(g->graph, MW_OP_LE, mw_gradient_result(g, 0), zero);
    g->operands[0] = mw_build_select(g->graph, is_off, zero, g->results[0]);
}

void mw_gradient_gelu(MwGradient *g)
{
    g->operands[0] =
        mw_build_binary(g->graph, MW_OP_GELU_GRAD, mw_gradient_operand(g, 0), g->results[0]);
}

void mw_gradient_gelu_tanh(MwGradient *g)
{
    g->operands[0] =
        mw_build_binary(g->graph, MW_OP_GELU_TANH_GRAD, mw_gradient_operand(g, 0), g->results[0]);
}

void mw_gradient_silu(MwGradient *g)
{
    g->operands[0] =
        mw_build_binary(g->graph, MW_OP_SILU_GRAD, mw_gradient_operand(g, 0), g->results[0]);
}

void mw_gradient_select(MwGradient *g)
{
    MwValueId condition = mw_gradient_operand(g, 0), d = g->results[0], zero = scalar_like(g, 0);
    if (g->wanted[1])
        mw_gradient_unbroadcast(g, 1, mw_build_select(g->graph, condition, d, zero));
    if (g->wanted[2])
        mw_gradient_unbroadcast(g, 2, mw_build_select(g->graph, condition, zero, d));
}

void mw_gradient_cast(MwGradient *g)
{
    g->operands[0] = mw_build_cast(g->graph, g->results[0], mw_gradient_tensor(g, 0).type);
}

void mw_gradient_identity(MwGradient *g)
{
    g->operands[0] = g->results[0];
}

/* Dropout with the same attributes: a linear map that equals its transpose. */
void mw_gradient_dropout(MwGradient *g)
{
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_DROPOUT, &g->results[0], 1, g->node.attrs,
                              g->node.attr_count);
}
