/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention (Vaswani et al. 2017; grouped heads, Ainslie et al. 2023) and rotary positions (Su et
 * al. 2021). */
#include "tests/reference/evaluate_rules.h"

#include <math.h>
#include <stdlib.h>
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

/* The operand that is the mask; -1: there is none. */
static int mask_operand(const Eval *e)
{
    switch (e->node->op) {
    case MW_OP_SDPA_MASKED:
        return 3;
    case MW_OP_SDPA_MASKED_GRAD:
    case MW_OP_SDPA_MASK_GRAD:
        return 6;
    default:
        return -1;
    }
}

/* The index in the mask of its element for a query and a key. */
static int64_t mask_at(const Eval *e, const Query *at, int64_t key)
{
    const MwTensor *mask = eval_in(e, mask_operand(e));
    const int64_t index[] = {at->b, at->h, at->s, key};
    int64_t place = 0;
    for (int d = 0; d < 4; d++)
        place = place * mask->dim[d] + (mask->dim[d] > 1 ? index[d] : 0);
    return place;
}

/* Whether causality and the window let the query see the key. */
static bool sees(const Eval *e, const Query *at, int64_t key)
{
    const MwAttr *offset = mw_node_attr(e->node, MW_ATTR_OFFSET);
    const int64_t position =
        eval_origin(e, eval_in(e, 0), 1) + at->s + (offset->ints.count ? offset->ints.at[0] : 0);
    const MwAttr *window = mw_node_attr(e->node, MW_ATTR_WINDOW);
    key += eval_origin_by(e, MW_ATTR_KEY_ORIGIN, eval_in(e, 1), 1);
    if (mw_node_int(e->node, MW_ATTR_CAUSAL) && key > position)
        return false;
    return !window->ints.count || llabs(key - position) < window->ints.at[0];
}

static double product(const Eval *e, const Query *at, int64_t key)
{
    const MwTensor *q = eval_in(e, 0), *k = eval_in(e, 1);
    return mw_node_float(e->node, MW_ATTR_SCALE) * dot(e->in[0] + vector_at(q, at->b, at->s, at->h),
                                                       e->in[1] + vector_at(k, at->b, key, at->g),
                                                       q->dim[3]);
}

static double score(const Eval *e, const Query *at, int64_t key)
{
    const double cap = mw_node_float(e->node, MW_ATTR_SOFT_CAP);
    const int mask = mask_operand(e);
    double score = product(e, at, key);
    if (!sees(e, at, key))
        return -INFINITY;
    if (cap > 0)
        score = cap * tanh(score / cap);
    if (mask < 0)
        return score;
    const double masked = e->in[mask][mask_at(e, at, key)];
    if (eval_in(e, mask)->type != MW_BOOL)
        return score + masked;
    return masked != 0 ? score : -INFINITY;
}

/* The derivative of the score by the product. */
static double slope(const Eval *e, const Query *at, int64_t key)
{
    const double cap = mw_node_float(e->node, MW_ATTR_SOFT_CAP);
    const double bent = cap > 0 ? tanh(product(e, at, key) / cap) : 0;
    return 1 - bent * bent;
}

static void attend(const Eval *e, const Query *at)
{
    const MwTensor *q = eval_in(e, 0), *v = eval_in(e, 2);
    double most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < v->dim[1]; t++)
        most = fmax(most, score(e, at, t));
    double *out = e->out[0] + vector_at(q, at->b, at->s, at->h);
    memset(out, 0, sizeof(double) * (size_t)q->dim[3]);
    for (int64_t t = 0; t < v->dim[1]; t++) {
        const double by = score(e, at, t), weight = by == -INFINITY ? 0 : exp(by - most);
        sum += weight;
        if (weight != 0)
            add_scaled(out, weight, e->in[2] + vector_at(v, at->b, t, at->g), q->dim[3]);
    }
    for (int64_t i = 0; i < q->dim[3]; i++)
        out[i] /= sum == 0 ? 1 : sum;
    e->out[1][(at->b * q->dim[1] + at->s) * q->dim[2] + at->h] = most + log(sum);
}

static void attend_grad(const Eval *e, const Query *at)
{
    const MwTensor *q = eval_in(e, 0), *k = eval_in(e, 1);
    int64_t width = q->dim[3], query = vector_at(q, at->b, at->s, at->h);
    double lse = e->in[4][(at->b * q->dim[1] + at->s) * q->dim[2] + at->h];
    const double *d = e->in[5] + query;
    double mean = dot(d, e->in[3] + query, width);
    for (int64_t t = 0; t < k->dim[1]; t++) {
        int64_t key = vector_at(k, at->b, t, at->g);
        const double by = score(e, at, t);
        if (by == -INFINITY)
            continue;
        double p = exp(by - lse), masked = p * (dot(d, e->in[2] + key, width) - mean);
        double ds = masked * slope(e, at, t) * mw_node_float(e->node, MW_ATTR_SCALE);
        if (e->node->op == MW_OP_SDPA_MASK_GRAD) {
            e->out[0][mask_at(e, at, t)] += masked;
            continue;
        }
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
    for (int k = 0; k < e->node->result_count; k++)
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
    case MW_OP_SDPA_MASKED:
        return each_query(e, attend), true;
    case MW_OP_SDPA_GRAD:
    case MW_OP_SDPA_MASKED_GRAD:
    case MW_OP_SDPA_MASK_GRAD:
        return sdpa_grad(e), true;
    case MW_OP_ROPE:
        return rope(e), true;
    default:
        return false;
    }
}
