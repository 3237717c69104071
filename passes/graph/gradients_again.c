/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of gradient operators, for models that differentiate what `grad` gives.
 *
 * A gradient operator is linear in d, and its gradient by d is the operator itself on the gradient
 * G by its result where it is symmetric as a matrix, as those of functions of one element and of
 * one row are. In the formulas below sums are along rows, and n is the length of a row. */
#include "passes/graph/gradient_terms.h"

#include <math.h>

static MwValueId again(MwGradient *g)
{
    const MwValueId operands[] = {mw_gradient_operand(g, 0), g->results[0]};
    return mw_build(g->graph, NULL, g->node.op, operands, 2, g->node.attrs, g->node.attr_count);
}

/* ---- Functions of one element ---- */

/* The gradients of d f'(x), where `second` is f''(x): both have the shape that x and d broadcast
 * to. */
static void gradient_of_slope(MwGradient *g, MwValueId (*second)(const MwGradient *g, MwValueId x))
{
    if (g->wanted[1])
        mw_gradient_unbroadcast(g, 1, again(g));
    if (!g->wanted[0])
        return;
    const MwValueId curvature = second(g, mw_gradient_operand(g, 0));
    mw_gradient_unbroadcast(g, 0,
                            mul(g, mul(g, g->results[0], mw_gradient_operand(g, 1)), curvature));
}

/* s (1 - s) (2 + x (1 - 2 s)), where s is the sigmoid of x */
static MwValueId silu_curvature(const MwGradient *g, MwValueId x)
{
    const MwValueId s = mw_build_unary(g->graph, MW_OP_SIGMOID, x);
    const MwValueId slope = mul(g, s, shifted(g, neg(g, s), 1));
    return mul(g, slope, shifted(g, mul(g, x, shifted(g, scaled(g, s, -2), 1)), 2));
}

void mw_gradient_silu_grad(MwGradient *g)
{
    gradient_of_slope(g, silu_curvature);
}

/* p (2 - x^2), where p is the density of the normal distribution at x */
static MwValueId gelu_curvature(const MwGradient *g, MwValueId x)
{
    const MwValueId square = mul(g, x, x);
    const MwValueId density = mw_build_unary(g->graph, MW_OP_EXP, scaled(g, square, -0.5));
    return mul(g, scaled(g, density, 1 / sqrt(2 * acos(-1))), shifted(g, neg(g, square), 2));
}

void mw_gradient_gelu_grad(MwGradient *g)
{
    gradient_of_slope(g, gelu_curvature);
}

/* With t = tanh(u), u = c (x + a x^3), u' = c (1 + 3 a x^2) and u'' = 6 a c x:
 * (1 - t^2) (u' + x (u'' / 2 - t u'^2)) */
static MwValueId gelu_tanh_curvature(const MwGradient *g, MwValueId x)
{
    const double c = sqrt(2 / acos(-1)), a = 0.044715;
    const MwValueId square = mul(g, x, x);
    const MwValueId u = scaled(g, mul(g, x, shifted(g, scaled(g, square, a), 1)), c);
    const MwValueId t = mw_build_unary(g->graph, MW_OP_TANH, u);
    const MwValueId u1 = scaled(g, shifted(g, scaled(g, square, 3 * a), 1), c);
    const MwValueId bend = minus(g, scaled(g, x, 3 * a * c), mul(g, t, mul(g, u1, u1)));
    return mul(g, shifted(g, neg(g, mul(g, t, t)), 1), plus(g, u1, mul(g, x, bend)));
}

void mw_gradient_gelu_tanh_grad(MwGradient *g)
{
    gradient_of_slope(g, gelu_tanh_curvature);
}

/* ---- Rows ---- */

static unsigned last_dim(const MwGradient *g, MwValueId x)
{
    return 1u << (mw_value_tensor(g->graph, x)->rank - 1);
}

static MwValueId row_sum(const MwGradient *g, MwValueId x)
{
    return mw_build_sum(g->graph, x, last_dim(g, x), true);
}

static int64_t row_length(const MwGradient *g)
{
    const MwTensor x = mw_gradient_tensor(g, 0);
    return x.dim[x.rank - 1];
}

static MwValueId row_mean(const MwGradient *g, MwValueId x)
{
    return scaled(g, row_sum(g, x), 1.0 / (double)row_length(g));
}

/* y (d - sum(y d)): by y, G (d - sum(y d)) - d sum(G y) */
void mw_gradient_softmax_grad(MwGradient *g)
{
    const MwValueId y = mw_gradient_operand(g, 0), d = mw_gradient_operand(g, 1);
    const MwValueId given = g->results[0];
    if (g->wanted[1])
        g->operands[1] = again(g);
    if (g->wanted[0])
        g->operands[0] = minus(g, mul(g, given, minus(g, d, row_sum(g, mul(g, y, d)))),
                               mul(g, d, row_sum(g, mul(g, given, y))));
}

/* d - exp(y) sum(d): by d, G - sum(G exp(y)); by y, -G exp(y) sum(d) */
void mw_gradient_log_softmax_grad(MwGradient *g)
{
    const MwValueId p = mw_build_unary(g->graph, MW_OP_EXP, mw_gradient_operand(g, 0));
    const MwValueId weighed = mul(g, g->results[0], p);
    if (g->wanted[1])
        g->operands[1] = minus(g, g->results[0], row_sum(g, weighed));
    if (g->wanted[0])
        g->operands[0] = neg(g, mul(g, weighed, row_sum(g, mw_gradient_operand(g, 1))));
}

/* r = d exp(x - l), of l and d for each row: by x, G r; by l, -sum(G r); by d, sum(G exp(x - l)) */
void mw_gradient_logsumexp_grad(MwGradient *g)
{
    const MwTensor rows = mw_gradient_tensor(g, 1);
    const MwValueId part = mul(g, g->results[0], mw_gradient_result(g, 0));
    const unsigned last = last_dim(g, part);
    if (g->wanted[0])
        g->operands[0] = part;
    if (g->wanted[1])
        g->operands[1] = neg(g, mw_build_sum(g->graph, part, last, false));
    if (!g->wanted[2])
        return;
    const MwValueId operands[] = {mw_gradient_operand(g, 0), mw_gradient_operand(g, 1),
                                  mw_build_constant(g->graph, &rows, 1)};
    const MwValueId p = mw_build(g->graph, NULL, MW_OP_LOGSUMEXP_GRAD, operands, 3, NULL, 0);
    g->operands[2] = mw_build_sum(g->graph, mul(g, g->results[0], p), last, false);
}

/* The gradient by z, the row whose length is normalised: x, or x less its mean. With r = 1 /
 * sqrt(mean(z^2) + eps), b = mean(d z) and c = sum(G z), the sum of what G weighs is
 * r sum(G d) - r^3 b c, where d is that of z. By z it is
 * -r^3 (z (sum(G d) - 3 r^2 b c) / n + d c / n + G b). */
static MwValueId gradient_of_norm(MwGradient *g, MwValueId z, MwValueId d)
{
    const MwValueId given = g->results[0];
    const double n = (double)row_length(g);
    const MwValueId spread =
        shifted(g, row_mean(g, mul(g, z, z)), mw_node_float(&g->node, MW_ATTR_EPS));
    const MwValueId r = mw_build_unary(g->graph, MW_OP_RSQRT, spread);
    const MwValueId square = mul(g, r, r);
    const MwValueId b = row_mean(g, mul(g, d, z)), c = row_sum(g, mul(g, given, z));
    const MwValueId bend =
        minus(g, row_sum(g, mul(g, given, d)), scaled(g, mul(g, square, mul(g, b, c)), 3));
    const MwValueId along =
        plus(g, scaled(g, plus(g, mul(g, z, bend), mul(g, d, c)), 1 / n), mul(g, given, b));
    return neg(g, mul(g, mul(g, r, square), along));
}

static MwValueId centred(const MwGradient *g, MwValueId x)
{
    return minus(g, x, row_mean(g, x));
}

void mw_gradient_rms_norm_grad(MwGradient *g)
{
    if (g->wanted[1])
        g->operands[1] = again(g);
    if (g->wanted[0])
        g->operands[0] = gradient_of_norm(g, mw_gradient_operand(g, 0), mw_gradient_operand(g, 1));
}

void mw_gradient_layer_norm_grad(MwGradient *g)
{
    if (g->wanted[1])
        g->operands[1] = again(g);
    if (g->wanted[0])
        g->operands[0] = centred(g, gradient_of_norm(g, centred(g, mw_gradient_operand(g, 0)),
                                                     centred(g, mw_gradient_operand(g, 1))));
}

/* ---- Elements of rows ---- */

/* Elements of d were added to those at the ids: the gradient by them is that of these. */
static void gradient_at_ids(MwGradient *g, MwOp op)
{
    const MwValueId operands[] = {g->results[0], mw_gradient_operand(g, 0)};
    g->operands[1] = mw_build(g->graph, NULL, op, operands, 2, NULL, 0);
}

void mw_gradient_pick_grad(MwGradient *g)
{
    gradient_at_ids(g, MW_OP_PICK);
}

void mw_gradient_take_along_grad(MwGradient *g)
{
    gradient_at_ids(g, MW_OP_TAKE_ALONG);
}
