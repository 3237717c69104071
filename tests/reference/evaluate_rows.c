/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions, and operators along the last dimension. */
#include "tests/reference/evaluate_rules.h"

#include <math.h>

static void reduce(const Eval *e, bool is_sum)
{
    const MwTensor *operand = eval_in(e, 0), *result = eval_out(e, 0);
    const MwAttr *axes = mw_node_attr(e->node, MW_ATTR_AXES);
    bool reduced[MW_MAX_RANK] = {0};
    for (int i = 0; i < axes->ints.count; i++)
        reduced[axes->ints.at[i]] = true;
    for (int64_t i = 0; i < mw_tensor_elements(result); i++)
        e->out[0][i] = is_sum ? 0 : -INFINITY;
    for (int64_t i = 0; i < mw_tensor_elements(operand); i++) {
        int64_t at[MW_MAX_RANK], to = 0;
        eval_index(operand, i, at);
        for (int d = 0; d < operand->rank; d++)
            if (!reduced[d])
                to = to * operand->dim[d] + at[d];
        double x = e->in[0][i], *y = &e->out[0][to];
        *y = is_sum ? *y + x : eval_greater(*y, x);
    }
}

static double row_max(const double *x, int64_t n)
{
    double most = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        most = eval_greater(most, x[i]);
    return most;
}

static double row_logsumexp(const double *x, int64_t n)
{
    double most = row_max(x, n), sum = 0;
    if (isinf(most))
        return most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

static double row_dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static double row_sum(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* (x - mean) / sqrt(variance + eps); gives the factor 1 / sqrt(variance + eps). Ba et al. 2016. */
static double normalise(const double *x, double *y, int64_t n, double eps)
{
    double mean = row_sum(x, n) / (double)n, variance = 0;
    for (int64_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    double scale = 1 / sqrt(variance + eps);
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * scale;
    return scale;
}

/* Zhang and Sennrich 2019. */
static double rms_scale(const double *x, int64_t n, double eps)
{
    return 1 / sqrt(row_dot(x, x, n) / (double)n + eps);
}

static void layer_norm_grad(const double *x, const double *dy, double *dx, int64_t n, double eps)
{
    double scale = normalise(x, dx, n, eps);
    double mean_dy = row_sum(dy, n) / (double)n, mean_product = row_dot(dy, dx, n) / (double)n;
    for (int64_t i = 0; i < n; i++)
        dx[i] = scale * (dy[i] - mean_dy - dx[i] * mean_product);
}

static void rms_norm_grad(const double *x, const double *dy, double *dx, int64_t n, double eps)
{
    double scale = rms_scale(x, n, eps), mean_product = row_dot(x, dy, n) / (double)n;
    for (int64_t i = 0; i < n; i++)
        dx[i] = scale * dy[i] - x[i] * scale * scale * scale * mean_product;
}

static void softmax(const double *x, double *y, int64_t n, bool keep_log)
{
    double lse = row_logsumexp(x, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = keep_log ? x[i] - lse : exp(x[i] - lse);
}

static void softmax_grad(const double *y, const double *dy, double *dx, int64_t n)
{
    double dot = row_dot(y, dy, n);
    for (int64_t i = 0; i < n; i++)
        dx[i] = y[i] * (dy[i] - dot);
}

static void log_softmax_grad(const double *y, const double *dy, double *dx, int64_t n)
{
    double sum = row_sum(dy, n);
    for (int64_t i = 0; i < n; i++)
        dx[i] = dy[i] - exp(y[i]) * sum;
}

/* One row: `x` and `dy` of the operands, `y` of the result. */
static bool row(const Eval *e, const double *x, const double *dy, double *y, int64_t n)
{
    const MwAttr *attr = mw_node_attr(e->node, MW_ATTR_EPS);
    double eps = attr ? attr->f : 0;
    switch (e->node->op) {
    case MW_OP_SOFTMAX:
        return softmax(x, y, n, false), true;
    case MW_OP_LOG_SOFTMAX:
        return softmax(x, y, n, true), true;
    case MW_OP_SOFTMAX_GRAD:
        return softmax_grad(x, dy, y, n), true;
    case MW_OP_LOG_SOFTMAX_GRAD:
        return log_softmax_grad(x, dy, y, n), true;
    case MW_OP_LAYER_NORM:
        return normalise(x, y, n, eps), true;
    case MW_OP_LAYER_NORM_GRAD:
        return layer_norm_grad(x, dy, y, n, eps), true;
    case MW_OP_RMS_NORM:
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * rms_scale(x, n, eps);
        return true;
    case MW_OP_RMS_NORM_GRAD:
        return rms_norm_grad(x, dy, y, n, eps), true;
    default:
        return false;
    }
}

static void logsumexp_grad(const Eval *e, int64_t r, int64_t n)
{
    const double lse = isinf(e->in[1][r]) ? 0 : e->in[1][r];
    for (int64_t i = r * n; i < (r + 1) * n; i++)
        e->out[0][i] = exp(e->in[0][i] - lse) * e->in[2][r];
}

/* The number of elements of a row that come before element i. */
static int64_t elements_before(const double *x, int64_t n, int64_t i, bool ascending)
{
    int64_t count = 0;
    for (int64_t j = 0; j < n; j++) {
        const bool is_greater = x[j] > x[i] || (isnan(x[j]) && !isnan(x[i]));
        const bool is_less = x[j] < x[i] || (!isnan(x[j]) && isnan(x[i]));
        const bool is_equal = !is_greater && !is_less;
        count += (ascending ? is_less : is_greater) || (is_equal && j < i);
    }
    return count;
}

static void top_k(const Eval *e)
{
    const int64_t n = row_length(eval_in(e, 0)), k = row_length(eval_out(e, 0));
    const bool ascending = mw_node_int(e->node, MW_ATTR_ASCENDING);
    for (int64_t i = 0; i < mw_tensor_elements(eval_in(e, 0)); i++) {
        const int64_t r = i / n, at = elements_before(e->in[0] + r * n, n, i % n, ascending);
        if (at < k) {
            e->out[0][r * k + at] = e->in[0][i];
            e->out[1][r * k + at] = (double)(i % n);
        }
    }
}

static void cumsum(const Eval *e)
{
    const int64_t n = row_length(eval_in(e, 0));
    const bool inverse = mw_node_int(e->node, MW_ATTR_INVERSE);
    for (int64_t i = 0; i < mw_tensor_elements(eval_in(e, 0)); i++) {
        e->out[0][i] = 0;
        for (int64_t k = inverse ? i : i - i % n; k <= (inverse ? i - i % n + n - 1 : i); k++)
            e->out[0][i] += e->in[0][k];
    }
}

/* Each y is the sum of all x up to its own, each times the decays after it. */
static void linear_scan(const Eval *e)
{
    const MwTensor *tensor = eval_in(e, 0);
    const int64_t axis = mw_node_int(e->node, MW_ATTR_AXIS), n = tensor->dim[axis];
    const int64_t by = mw_node_int(e->node, MW_ATTR_REVERSE) ? 1 : -1;
    int64_t inner = 1;
    for (int d = (int)axis + 1; d < tensor->rank; d++)
        inner *= tensor->dim[d];
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++) {
        double factor = 1;
        e->out[0][i] = 0;
        for (int64_t step = i / inner % n, at = i; step >= 0 && step < n;
             step += by, at += by * inner) {
            e->out[0][i] += factor * e->in[0][at];
            factor *= e->in[1][at];
        }
    }
}

bool eval_rows(const Eval *e)
{
    MwOp op = e->node->op;
    if (op == MW_OP_LINEAR_SCAN)
        return linear_scan(e), true;
    if (op == MW_OP_CUMSUM)
        return cumsum(e), true;
    if (op == MW_OP_TOP_K)
        return top_k(e), true;
    if (op == MW_OP_REDUCE_SUM || op == MW_OP_REDUCE_MAX)
        return reduce(e, op == MW_OP_REDUCE_SUM), true;
    if (mw_op_info(op)->lowering != MW_LOWER_ROWS || op == MW_OP_PICK_GRAD)
        return false;
    int64_t n = row_length(eval_in(e, 0));
    for (int64_t r = 0; r < row_count(eval_in(e, 0)); r++) {
        const double *dy = e->node->operand_count > 1 ? e->in[1] + r * n : NULL;
        if (op == MW_OP_LOGSUMEXP)
            e->out[0][r] = row_logsumexp(e->in[0] + r * n, n);
        else if (op == MW_OP_LOGSUMEXP_GRAD)
            logsumexp_grad(e, r, n);
        else if (!row(e, e->in[0] + r * n, dy, e->out[0] + r * n, n))
            return false;
    }
    return true;
}
