/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention (Vaswani et al. 2017; grouped heads, Ainslie et al. 2023) and rotary positions (Su et
 * al. 2021). */
#include "tests/reference/evaluate_rules.h"

#include <math.h>
#include <string.h>

/* One query: row `s` of head `h` of sequence `b`, with the key head that it shares. */
typedef struct {
    int64_t b, s, h, g;
} Query;

/* Element 0 of [b, i, head] in a tensor [batch, sequence, heads, width]. */
static int64_t vector_at(const MwTensor *tensor, int64_t b, int64_t i, int64_t head)
{
    return ((b * tensor->dim[1] + i) * tensor->dim[2] + head) * tensor->dim[3];
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void add_scaled(double *y, double factor, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += factor * x[i];
}

/* How many keys the query sees: the first ones. */
static int64_t keys_seen(const Eval *e, const Query *at)
{
    int64_t keys = eval_in(e, 1)->dim[1];
    if (!mw_node_int(e->node, MW_ATTR_CAUSAL))
        return keys;
    int64_t position = eval_origin(e, eval_in(e, 0), 1) + at->s;
    return position + 1 < keys ? position + 1 : keys;
}

static double score(const Eval *e, const Query *at, int64_t key)
{
    const MwTensor *q = eval_in(e, 0), *k = eval_in(e, 1);
    return mw_node_float(e->node, MW_ATTR_SCALE) * dot(e->in[0] + vector_at(q, at->b, at->s, at->h),
                                                       e->in[1] + vector_at(k, at->b, key, at->g),
                                                       q->dim[3]);
}

static void attend(const Eval *e, const Query *at)
{
    const MwTensor *q = eval_in(e, 0), *v = eval_in(e, 2);
    int64_t seen = keys_seen(e, at);
    double most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < seen; t++)
        most = fmax(most, score(e, at, t));
    double *out = e->out[0] + vector_at(q, at->b, at->s, at->h);
    memset(out, 0, sizeof(double) * (size_t)q->dim[3]);
    for (int64_t t = 0; t < seen; t++) {
        double weight = exp(score(e, at, t) - most);
        sum += weight;
        add_scaled(out, weight, e->in[2] + vector_at(v, at->b, t, at->g), q->dim[3]);
    }
    for (int64_t i = 0; i < q->dim[3]; i++)
        out[i] /= sum;
    e->out[1][(at->b * q->dim[1] + at->s) * q->dim[2] + at->h] = most + log(sum);
}

static void attend_grad(const Eval *e, const Query *at)
{
    const MwTensor *q = eval_in(e, 0), *k = eval_in(e, 1);
    int64_t width = q->dim[3], query = vector_at(q, at->b, at->s, at->h);
    double lse = e->in[4][(at->b * q->dim[1] + at->s) * q->dim[2] + at->h];
    const double *d = e->in[5] + query;
    double mean = dot(d, e->in[3] + query, width);
    for (int64_t t = 0; t < keys_seen(e, at); t++) {
        int64_t key = vector_at(k, at->b, t, at->g);
        double p = exp(score(e, at, t) - lse);
        double ds =
            p * (dot(d, e->in[2] + key, width) - mean) * mw_node_float(e->node, MW_ATTR_SCALE);
        add_scaled(e->out[0] + query, ds, e->in[1] + key, width);
        add_scaled(e->out[1] + key, ds, e->in[0] + query, width);
        add_scaled(e->out[2] + key, p, d, width);
    }
}

static void each_query(const Eval *e, void (*visit)(const Eval *, const Query *))
{
    const MwTensor *q = eval_in(e, 0), *k = eval_in(e, 1);
    int64_t heads_per_group = q->dim[2] / k->dim[2];
    Query at;
    for (at.b = 0; at.b < q->dim[0]; at.b++)
        for (at.s = 0; at.s < q->dim[1]; at.s++)
            for (at.h = 0; at.h < q->dim[2]; at.h++) {
                at.g = at.h / heads_per_group;
                visit(e, &at);
            }
}

static void sdpa_grad(const Eval *e)
{
    for (int k = 0; k < 3; k++)
        memset(e->out[k], 0, sizeof(double) * (size_t)mw_tensor_elements(eval_out(e, k)));
    each_query(e, attend_grad);
}

static void rope(const Eval *e)
{
    const MwTensor *x = eval_in(e, 0);
    int64_t half = x->dim[3] / 2;
    double base = mw_node_float(e->node, MW_ATTR_BASE);
    double sign = mw_node_int(e->node, MW_ATTR_INVERSE) ? -1 : 1;
    for (int64_t v = 0; v < row_count(x); v++) {
        int64_t position = eval_origin(e, x, 1) + v / x->dim[2] % x->dim[1];
        const double *in = e->in[0] + v * 2 * half;
        double *out = e->out[0] + v * 2 * half;
        for (int64_t i = 0; i < half; i++) {
            double angle = sign * (double)position * pow(base, -(double)i / (double)half);
            out[i] = in[i] * cos(angle) - in[i + half] * sin(angle);
            out[i + half] = in[i + half] * cos(angle) + in[i] * sin(angle);
        }
    }
}

bool eval_attention(const Eval *e)
{
    switch (e->node->op) {
    case MW_OP_SDPA:
        return each_query(e, attend), true;
    case MW_OP_SDPA_GRAD:
        return sdpa_grad(e), true;
    case MW_OP_ROPE:
        return rope(e), true;
    default:
        return false;
    }
}
