/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of attention, of the first order and of the second.
 *
 * That of the first is an operator, which keeps no scores. That of the second computes them, of
 * every query and key, in f32, by operators that have gradients themselves, so that it can be
 * differentiated on and on. With the product z = scale q k, its capped form c(z), p the softmax of
 * c(z) + mask over the keys that are seen, and a = d v, attention has the gradients
 *
 *     by v: p d        by the mask: w = p (a - sum(p a))        by z: t = w c'(z)
 *     by q: scale t k  by k: scale t q
 *
 * where products with q, d, k and v are sums over queries, keys or widths, and sum is over the keys
 * of a row. Its operands out and lse are functions of q, k and the mask: what depends on them is in
 * the gradients by these. With G the gradient by a result, the gradients of the second order are
 *
 *     dt = scale (Gq k + q Gk),  dw = dt c'(z) + Gmask,  da = p (dw - sum(p dw)),
 *     dp = dw (a - sum(p a)) - a sum(p dw) + d Gv,  ds = p (dp - sum(p dp)),
 *     dz = ds c'(z) + dt w c''(z)
 *
 *     by q: scale (t Gk + dz k)  by k: scale (t Gq + dz q)  by v: da d
 *     by d: p Gv + da v          by the mask: ds */
#include "passes/graph/gradient_terms.h"

#include <math.h>

/* ---- The first order ---- */

/* The log-sum-exp is an auxiliary result for this gradient and has no gradient itself. */
void mw_gradient_sdpa(MwGradient *g)
{
    if (mw_has_value(g->results[1])) {
        mw_diag_error(g->diags, g->node.origin.span,
                      "the loss depends on the log-sum-exp of sdpa, which is not differentiable");
        return;
    }
    const bool is_masked = g->node.op == MW_OP_SDPA_MASKED;
    MwNodeSpec spec = {.op = is_masked ? MW_OP_SDPA_MASKED_GRAD : MW_OP_SDPA_GRAD,
                       .operands =
                           (MwValueId[]){mw_gradient_operand(g, 0), mw_gradient_operand(g, 1),
                                         mw_gradient_operand(g, 2), mw_gradient_result(g, 0),
                                         mw_gradient_result(g, 1), g->results[0],
                                         is_masked ? mw_gradient_operand(g, 3) : mw_no_value()},
                       .operand_count = is_masked ? 7 : 6,
                       .attrs = g->node.attrs,
                       .attr_count = g->node.attr_count};
    MwNodeId grad = mw_build_node(g->graph, &spec);
    for (int k = 0; k < 3; k++)
        g->operands[k] = mw_node_result(g->graph, grad, k);
    if (!is_masked || mw_gradient_tensor(g, 3).type == MW_BOOL)
        return;
    spec.op = MW_OP_SDPA_MASK_GRAD;
    g->operands[3] = mw_node_result(g->graph, mw_build_node(g->graph, &spec), 0);
}

/* ---- The second order ---- */

/* Operands of a gradient of attention. */
enum { Q = 0, K = 1, V = 2, D = 5, MASK = 6 };

/* The score of a key that is not seen, whose share of a softmax is 0 beside any other. */
static const double unseen = -1e30;

/* Values in f32. Those of queries are [b, s, g, r, w], where r heads share each of the g heads of
 * keys, those of keys [b, t, g, w], and those of pairs [b, g, r, s, t]. */
typedef struct {
    MwGradient *g;
    double scale;
    MwValueId q, k, v, d;
    MwValueId mask;        /* of pairs, or 1 in dimensions; no value: there is none */
    MwValueId slope, bend; /* of pairs: c' and c'' of the products; no value: 1 and 0 */
    MwValueId p;           /* of pairs */
} Attention;

/* ---- Terms, of which some may be absent: no value, which stands for 0 ---- */

static MwValueId sum(const Attention *a, MwValueId x, MwValueId y)
{
    if (!mw_has_value(x) || !mw_has_value(y))
        return mw_has_value(x) ? x : y;
    return plus(a->g, x, y);
}

static MwValueId product(const Attention *a, MwValueId x, MwValueId y)
{
    return mw_has_value(x) && mw_has_value(y) ? mul(a->g, x, y) : mw_no_value();
}

static MwValueId times_number(const Attention *a, MwValueId x, double factor)
{
    return product(a, x, mw_build_scalar(a->g->graph, factor));
}

static MwValueId times_slope(const Attention *a, MwValueId x)
{
    return mw_has_value(a->slope) ? product(a, x, a->slope) : x;
}

static MwValueId contract(const Attention *a, const char *equation, MwValueId x, MwValueId y)
{
    MwGraph *graph = a->g->graph;
    if (!mw_has_value(x) || !mw_has_value(y))
        return mw_no_value();
    const MwAttr attr = mw_attr_text(MW_ATTR_EQUATION, mw_intern(graph->interner, equation));
    return mw_build(graph, NULL, MW_OP_EINSUM, (MwValueId[]){x, y}, 2, &attr, 1);
}

static MwValueId of_pairs(const Attention *a, MwValueId queries, MwValueId keys)
{
    return contract(a, "bsgrw,btgw->bgrst", queries, keys);
}

static MwValueId of_queries(const Attention *a, MwValueId pairs, MwValueId keys)
{
    return contract(a, "bgrst,btgw->bsgrw", pairs, keys);
}

static MwValueId of_keys(const Attention *a, MwValueId pairs, MwValueId queries)
{
    return contract(a, "bgrst,bsgrw->btgw", pairs, queries);
}

/* The sum over the keys of each row, of size 1. */
static MwValueId row_sum(const Attention *a, MwValueId pairs)
{
    return mw_build_sum(a->g->graph, pairs, 1u << 4, true);
}

/* p (x - sum(p x)): the softmax is its own transpose. */
static MwValueId through_softmax(const Attention *a, MwValueId x)
{
    if (!mw_has_value(x))
        return x;
    return mw_build(a->g->graph, NULL, MW_OP_SOFTMAX_GRAD, (MwValueId[]){a->p, x}, 2, NULL, 0);
}

/* x (a - sum(p a)) - a sum(p x), where a is `by_p` */
static MwValueId through_softmax_grad(const Attention *a, MwValueId x, MwValueId by_p)
{
    const MwGradient *g = a->g;
    if (!mw_has_value(x))
        return x;
    const MwValueId centred = minus(g, by_p, row_sum(a, mul(g, a->p, by_p)));
    return minus(g, mul(g, x, centred), mul(g, by_p, row_sum(a, mul(g, a->p, x))));
}

/* ---- Operands ---- */

static MwValueId shaped(const Attention *a, MwValueId x, int rank, const int64_t *dims)
{
    const MwTensor shape = mw_tensor(MW_F32, rank, dims);
    if (!mw_has_value(x))
        return x;
    return mw_build_reshape(a->g->graph, mw_build_cast(a->g->graph, x, MW_F32), &shape);
}

/* `x`, [b, s, h, w] like q. */
static MwValueId queries(const Attention *a, MwValueId x)
{
    const MwTensor q = mw_gradient_tensor(a->g, Q), k = mw_gradient_tensor(a->g, K);
    const int64_t heads = k.dim[2];
    return shaped(a, x, 5, (int64_t[]){q.dim[0], q.dim[1], heads, q.dim[2] / heads, q.dim[3]});
}

/* `x`, [b, t, g, w] like k. */
static MwValueId keys(const Attention *a, MwValueId x)
{
    return shaped(a, x, 4, mw_gradient_tensor(a->g, K).dim);
}

/* The shape of the mask, [b, h, s, t] or 1 in dimensions, with heads as those of pairs. */
static MwTensor mask_shape(const Attention *a, MwType type)
{
    const MwTensor mask = mw_gradient_tensor(a->g, MASK);
    const int64_t heads = mask.dim[1] > 1 ? mw_gradient_tensor(a->g, K).dim[2] : 1;
    return mw_tensor(
        type, 5, (int64_t[]){mask.dim[0], heads, mask.dim[1] / heads, mask.dim[2], mask.dim[3]});
}

/* i32: the positions along a dimension of pairs, of `count` elements, with 1 in `after` others. */
static MwValueId positions(const Attention *a, int64_t count, int after)
{
    const int64_t dims[] = {count, 1};
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, MW_I32),
                            mw_attr_ints(MW_ATTR_SHAPE, dims, 1 + after),
                            mw_attr_int(MW_ATTR_AXIS, 0)};
    return mw_build(a->g->graph, NULL, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
}

static MwValueId both(const Attention *a, MwValueId x, MwValueId y)
{
    if (!mw_has_value(x) || !mw_has_value(y))
        return mw_has_value(x) ? x : y;
    return mw_build_binary(a->g->graph, MW_OP_AND, x, y);
}

/* Bool [s, t]: the keys that causality and the window let a query see. No value: all. */
static MwValueId seen_from_place(const Attention *a)
{
    MwGraph *graph = a->g->graph;
    const MwNode *node = &a->g->node;
    const MwAttr *window = mw_node_attr(node, MW_ATTR_WINDOW);
    const MwAttr *offset = mw_node_attr(node, MW_ATTR_OFFSET);
    const MwTensor number = mw_tensor_scalar(MW_I32);
    MwValueId seen = mw_no_value();
    if (!mw_node_int(node, MW_ATTR_CAUSAL) && !window->ints.count)
        return seen;
    MwValueId place = positions(a, mw_gradient_tensor(a->g, Q).dim[1], 1);
    const MwValueId key = positions(a, mw_gradient_tensor(a->g, K).dim[1], 0);
    if (offset->ints.count)
        place = plus(a->g, place, mw_build_constant(graph, &number, (double)offset->ints.at[0]));
    if (mw_node_int(node, MW_ATTR_CAUSAL))
        seen = mw_build_binary(graph, MW_OP_LE, key, place);
    if (!window->ints.count)
        return seen;
    const MwValueId width = mw_build_constant(graph, &number, (double)window->ints.at[0]);
    const MwValueId away = mw_build_unary(graph, MW_OP_ABS, minus(a->g, key, place));
    return both(a, seen, mw_build_binary(graph, MW_OP_LT, away, width));
}

/* Sets the mask, and returns which keys it lets be seen; no value: all. */
static MwValueId read_mask(Attention *a)
{
    MwGraph *graph = a->g->graph;
    if (a->g->node.operand_count <= MASK)
        return mw_no_value();
    const MwValueId given = mw_gradient_operand(a->g, MASK);
    const bool is_bool = mw_value_tensor(graph, given)->type == MW_BOOL;
    const MwTensor shape = mask_shape(a, is_bool ? MW_BOOL : MW_F32);
    if (is_bool)
        return mw_build_reshape(graph, given, &shape);
    a->mask = shaped(a, given, shape.rank, shape.dim);
    return mw_build_binary(graph, MW_OP_GT, a->mask, mw_build_scalar(graph, -INFINITY));
}

/* Caps the products, and sets the slope and the bend: with h = tanh(z / cap) they are 1 - h^2 and
 * -2 h (1 - h^2) / cap. */
static MwValueId capped(Attention *a, MwValueId z)
{
    MwGraph *graph = a->g->graph;
    const double cap = mw_node_float(&a->g->node, MW_ATTR_SOFT_CAP);
    if (cap == 0)
        return z;
    const MwValueId h = mw_build_unary(graph, MW_OP_TANH, times_number(a, z, 1 / cap));
    a->slope = minus(a->g, mw_build_scalar(graph, 1), mul(a->g, h, h));
    a->bend = times_number(a, mul(a->g, h, a->slope), -2 / cap);
    return times_number(a, h, cap);
}

static Attention attention_of(MwGradient *g)
{
    MwGraph *graph = g->graph;
    Attention a = {.g = g, .scale = mw_node_float(&g->node, MW_ATTR_SCALE)};
    a.mask = a.slope = a.bend = mw_no_value();
    a.q = queries(&a, mw_gradient_operand(g, Q));
    a.k = keys(&a, mw_gradient_operand(g, K));
    a.v = keys(&a, mw_gradient_operand(g, V));
    a.d = queries(&a, mw_gradient_operand(g, D));
    const MwValueId seen_by_mask = read_mask(&a);
    const MwValueId seen = both(&a, seen_by_mask, seen_from_place(&a));
    MwValueId score = capped(&a, times_number(&a, of_pairs(&a, a.q, a.k), a.scale));
    score = sum(&a, score, a.mask);
    if (!mw_has_value(seen)) {
        a.p = mw_build_unary(graph, MW_OP_SOFTMAX, score);
        return a;
    }
    score = mw_build_select(graph, seen, score, mw_build_scalar(graph, unseen));
    a.p = mw_build_select(graph, seen, mw_build_unary(graph, MW_OP_SOFTMAX, score),
                          mw_build_scalar(graph, 0));
    return a;
}

/* ---- Gradients ---- */

static void set(const Attention *a, int k, MwValueId gradient)
{
    MwGradient *g = a->g;
    const MwTensor shape = mw_gradient_tensor(g, k);
    if (g->wanted[k] && mw_has_value(gradient))
        g->operands[k] = mw_build_reshape(g->graph, gradient, &shape);
}

/* From the gradients by the gradients of q, k, v and the mask; no value: 0. */
static void differentiate_again(const Attention *a, MwValueId by_q, MwValueId by_k, MwValueId by_v,
                                MwValueId by_mask)
{
    MwGraph *graph = a->g->graph;
    const MwValueId by_p = of_pairs(a, a->d, a->v);
    const MwValueId w = through_softmax(a, by_p), t = times_slope(a, w);
    const MwValueId dt =
        times_number(a, sum(a, of_pairs(a, by_q, a->k), of_pairs(a, a->q, by_k)), a->scale);
    const MwValueId dw = sum(a, times_slope(a, dt), by_mask);
    const MwValueId da = through_softmax(a, dw);
    const MwValueId dp = sum(a, through_softmax_grad(a, dw, by_p), of_pairs(a, a->d, by_v));
    const MwValueId ds = through_softmax(a, dp);
    const MwValueId dz = sum(a, times_slope(a, ds), product(a, product(a, dt, w), a->bend));
    set(a, Q, times_number(a, sum(a, of_queries(a, t, by_k), of_queries(a, dz, a->k)), a->scale));
    set(a, K, times_number(a, sum(a, of_keys(a, t, by_q), of_keys(a, dz, a->q)), a->scale));
    set(a, V, of_keys(a, da, a->d));
    set(a, D, sum(a, of_queries(a, a->p, by_v), of_queries(a, da, a->v)));
    if (mw_has_value(a->mask) && a->g->wanted[MASK]) {
        const MwTensor shape = *mw_value_tensor(graph, a->mask);
        set(a, MASK, mw_build_sum_to(graph, ds, &shape));
    }
}

void mw_gradient_sdpa_grad(MwGradient *g)
{
    const Attention a = attention_of(g);
    differentiate_again(&a, queries(&a, g->results[Q]), keys(&a, g->results[K]),
                        keys(&a, g->results[V]), mw_no_value());
}

void mw_gradient_sdpa_mask_grad(MwGradient *g)
{
    const Attention a = attention_of(g);
    const MwTensor shape = *mw_value_tensor(g->graph, a.mask);
    const MwTensor pairs = *mw_value_tensor(g->graph, a.p);
    const MwValueId given = shaped(&a, g->results[0], shape.rank, shape.dim);
    differentiate_again(&a, mw_no_value(), mw_no_value(), mw_no_value(),
                        mw_build_broadcast(g->graph, given, &pairs));
}
