/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions, and operators along the last dimension as compositions of row reductions and
 * element-wise code. */
#include "codegen/lower/lower_rules.h"

static MwRef f32(MwLower *l, int flops, const char *text, MwRef a, MwRef b)
{
    return mw_lower_expr(l, MW_SCALAR_F32, flops, text, 2, a, b);
}

static MwRef row_sum(MwLower *l, MwRef x)
{
    return mw_lower_fold(l, MW_KERNEL_ROW_SUM, x);
}

/* 1 / columns */
static MwRef inverse_count(MwLower *l)
{
    const MwTensor *x = mw_lower_operand_tensor(l, 0);
    return mw_lower_constant(l, MW_SCALAR_F32, 1.0 / (double)x->dim[x->rank - 1]);
}

static MwRef row_mean(MwLower *l, MwRef x)
{
    return f32(l, 1, "$0 * $1", row_sum(l, x), inverse_count(l));
}

void mw_lower_reduce(MwLower *l)
{
    static const MwKernelOp ops[2][3] = {
        {MW_KERNEL_ROW_SUM, MW_KERNEL_COLUMN_SUM, MW_KERNEL_TOTAL_SUM},
        {MW_KERNEL_ROW_MAX, MW_KERNEL_COLUMN_MAX, MW_KERNEL_TOTAL_MAX}};
    const MwKernelOp *op = ops[mw_lower_node(l)->op == MW_OP_REDUCE_MAX];
    MwLevel level = mw_node_reduction(l->legal, mw_lower_node(l)).level;
    MwRef x = mw_lower_operand(l, 0);
    if (level == MW_LEVEL_COLUMN) {
        mw_lower_result(l, 0, mw_lower_fold(l, op[1], x));
        return;
    }
    if (l->level == MW_LEVEL_POINT)
        x = mw_lower_fold(l, op[0], x);
    if (level == MW_LEVEL_TOTAL)
        x = mw_lower_fold(l, op[2], x);
    mw_lower_result(l, 0, x);
}

/* x - its row's greatest */
static MwRef shift_by_max(MwLower *l, MwRef x)
{
    return f32(l, 1, "$0 - $1", x, mw_lower_fold(l, MW_KERNEL_ROW_MAX, x));
}

static MwRef exp_of(MwLower *l, MwRef x)
{
    return mw_lower_expr(l, MW_SCALAR_F32, 10, "mw_exp($0)", 1, x);
}

void mw_lower_softmax(MwLower *l)
{
    MwRef part = exp_of(l, shift_by_max(l, mw_lower_operand(l, 0)));
    MwRef scale = mw_lower_expr(l, MW_SCALAR_F32, 4, "1.0f / $0", 1, row_sum(l, part));
    mw_lower_result(l, 0, f32(l, 1, "$0 * $1", part, scale));
}

/* y (dy - sum(dy y)) */
void mw_lower_softmax_grad(MwLower *l)
{
    MwRef y = mw_lower_operand(l, 0), dy = mw_lower_operand(l, 1);
    MwRef sum = row_sum(l, f32(l, 1, "$0 * $1", dy, y));
    mw_lower_result(l, 0, f32(l, 1, "$0 * $1", y, f32(l, 1, "$0 - $1", dy, sum)));
}

static MwRef log_of(MwLower *l, MwRef x)
{
    return mw_lower_expr(l, MW_SCALAR_F32, 12, "mw_log($0)", 1, x);
}

void mw_lower_log_softmax(MwLower *l)
{
    MwRef shifted = shift_by_max(l, mw_lower_operand(l, 0));
    MwRef log_sum = log_of(l, row_sum(l, exp_of(l, shifted)));
    mw_lower_result(l, 0, f32(l, 1, "$0 - $1", shifted, log_sum));
}

/* dy - exp(y) sum(dy) */
void mw_lower_log_softmax_grad(MwLower *l)
{
    MwRef y = mw_lower_operand(l, 0), dy = mw_lower_operand(l, 1);
    MwRef part = f32(l, 1, "$0 * $1", exp_of(l, y), row_sum(l, dy));
    mw_lower_result(l, 0, f32(l, 1, "$0 - $1", dy, part));
}

/* An infinite maximum is no number to take from others. */
static MwRef finite_or_zero(MwLower *l, MwRef x)
{
    return mw_lower_expr(l, MW_SCALAR_F32, 1, "(fabsf($0) < INFINITY ? $0 : 0.0f)", 1, x);
}

void mw_lower_logsumexp(MwLower *l)
{
    MwRef x = mw_lower_operand(l, 0);
    MwRef max = finite_or_zero(l, mw_lower_fold(l, MW_KERNEL_ROW_MAX, x));
    MwRef sum = row_sum(l, exp_of(l, f32(l, 1, "$0 - $1", x, max)));
    mw_lower_result(l, 0, f32(l, 1, "$0 + $1", max, log_of(l, sum)));
}

/* exp(x - lse) d */
void mw_lower_logsumexp_grad(MwLower *l)
{
    MwRef lse = finite_or_zero(l, mw_lower_operand(l, 1));
    MwRef shifted = f32(l, 1, "$0 - $1", mw_lower_operand(l, 0), lse);
    mw_lower_result(l, 0, f32(l, 1, "$0 * $1", exp_of(l, shifted), mw_lower_operand(l, 2)));
}

/* 1 / sqrt(mean square + eps) */
static MwRef inverse_deviation(MwLower *l, MwRef mean_square)
{
    MwRef eps = mw_lower_constant(l, MW_SCALAR_F32, mw_node_float(mw_lower_node(l), MW_ATTR_EPS));
    return f32(l, 5, "mw_rsqrt($0 + $1)", mean_square, eps);
}

static MwRef square_of(MwLower *l, MwRef x)
{
    return mw_lower_expr(l, MW_SCALAR_F32, 1, "$0 * $0", 1, x);
}

/* x - mean, and 1 / standard deviation: the mean first, so that the variance does not cancel. */
static MwRef center(MwLower *l, MwRef x, MwRef *inverse)
{
    MwRef centered = f32(l, 1, "$0 - $1", x, row_mean(l, x));
    *inverse = inverse_deviation(l, row_mean(l, square_of(l, centered)));
    return centered;
}

void mw_lower_layer_norm(MwLower *l)
{
    MwRef inverse;
    MwRef centered = center(l, mw_lower_operand(l, 0), &inverse);
    mw_lower_result(l, 0, f32(l, 1, "$0 * $1", centered, inverse));
}

/* mean(dy x) / deviation^2: the mean needs no deviation, and is taken in one walk with that of the
 * squares. */
static MwRef slope_along(MwLower *l, MwRef dy, MwRef x, MwRef inverse)
{
    MwRef mean = row_mean(l, f32(l, 1, "$0 * $1", dy, x));
    return f32(l, 2, "$0 * $1 * $1", mean, inverse);
}

/* Computes (dy - mean(dy) - y mean(dy y)) / deviation, where y is the normalised x. */
void mw_lower_layer_norm_grad(MwLower *l)
{
    MwRef inverse, dy = mw_lower_operand(l, 1);
    MwRef centered = center(l, mw_lower_operand(l, 0), &inverse);
    MwRef mean = row_mean(l, dy), slope = slope_along(l, dy, centered, inverse);
    mw_lower_result(l, 0,
                    mw_lower_expr(l, MW_SCALAR_F32, 4, "($0 - $1 - $2 * $3) * $4", 5, dy, mean,
                                  centered, slope, inverse));
}

void mw_lower_rms_norm(MwLower *l)
{
    MwRef x = mw_lower_operand(l, 0);
    MwRef inverse = inverse_deviation(l, row_mean(l, square_of(l, x)));
    mw_lower_result(l, 0, f32(l, 1, "$0 * $1", x, inverse));
}

/* Computes (dy - y mean(dy y)) / root mean square, where y is the normalised x. */
void mw_lower_rms_norm_grad(MwLower *l)
{
    MwRef x = mw_lower_operand(l, 0), dy = mw_lower_operand(l, 1);
    MwRef inverse = inverse_deviation(l, row_mean(l, square_of(l, x)));
    MwRef slope = slope_along(l, dy, x, inverse);
    mw_lower_result(
        l, 0, mw_lower_expr(l, MW_SCALAR_F32, 3, "($0 - $1 * $2) * $3", 4, dy, x, slope, inverse));
}
