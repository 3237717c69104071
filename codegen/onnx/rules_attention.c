/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention and rotary positions, as products and element-wise operators. */
#include "codegen/onnx/rules.h"

#include <float.h>
#include <math.h>

typedef struct {
    MwWriter *writer;
    const MwNode *node;
    MwType type;
    MwOpenNumber queries, keys, offset, window;
    bool is_causal, has_window;
} Attention;

static Attention read_attention(MwWriter *writer)
{
    const MwNode *node = writer->node;
    const bool has_offset = mw_node_attr(node, MW_ATTR_OFFSET)->ints.count,
               has_window = mw_node_attr(node, MW_ATTR_WINDOW)->ints.count;
    return (Attention){
        .writer = writer,
        .node = node,
        .type = mw_writer_operand_tensor(writer, 0)->type,
        .queries = mw_writer_dim(writer, node->operands[0], 1),
        .keys = mw_writer_dim(writer, node->operands[1], 1),
        .is_causal = mw_node_int(node, MW_ATTR_CAUSAL),
        .has_window = has_window,
        .offset = has_offset ? mw_writer_attr(writer, MW_ATTR_OFFSET, 0) : mw_open_constant(0),
        .window = has_window ? mw_writer_attr(writer, MW_ATTR_WINDOW, 0) : mw_open_constant(0)};
}

/* [b, s, h, d] with its dimensions in another order. */
static const char *put_heads(MwWriter *writer, const char *name, const int64_t *perm)
{
    return mw_writer_transpose(writer, name, perm, 4);
}

/* Keys or values [b, g, t, d] for each head of queries, [b, h, t, d]. */
static const char *put_repeated(Attention *a, const char *name, int operand)
{
    MwWriter *writer = a->writer;
    const MwTensor *q = mw_writer_operand_tensor(writer, 0),
                   *k = mw_writer_operand_tensor(writer, operand);
    const MwValueId value = a->node->operands[operand];
    const int64_t times = q->dim[2] / k->dim[2];
    if (times == 1)
        return name;
    const MwOpenNumber b = mw_writer_dim(writer, value, 0), t = mw_writer_dim(writer, value, 1);
    const MwOpenNumber g = mw_open_constant(k->dim[2]), d = mw_open_constant(k->dim[3]);
    const MwOpenNumber stretched[] = {b, g, mw_open_constant(times), t, d};
    const MwOpenNumber joined[] = {b, mw_open_constant(q->dim[2]), t, d};
    name = mw_writer_unsqueeze(writer, name, (int64_t[]){2}, 1);
    name = mw_writer_put2(writer, "Expand", name, mw_writer_numbers(writer, stretched, 5));
    return mw_writer_put2(writer, "Reshape", name, mw_writer_numbers(writer, joined, 4));
}

/* ---- Which keys are seen ---- */

/* bool [s, t]: whether a query sees a key, by their places; NULL: it sees all. */
static const char *put_seen(const Attention *a)
{
    MwWriter *writer = a->writer;
    if (!a->is_causal && !a->has_window)
        return NULL;
    const char *at =
        mw_writer_unsqueeze(writer, mw_writer_range(writer, a->queries), (int64_t[]){1}, 1);
    const char *keys = mw_writer_range(writer, a->keys), *seen = NULL;
    if (a->offset.constant || !mw_open_is_constant(&a->offset))
        at = mw_writer_put2(writer, "Add", at, mw_writer_numbers(writer, &a->offset, 1));
    if (a->is_causal)
        seen = mw_writer_put2(writer, "LessOrEqual", keys, at);
    if (a->has_window) {
        const char *away = mw_writer_put2(writer, "Sub", at, keys);
        if (!a->is_causal)
            away = mw_writer_put1(writer, "Abs", away);
        const char *near =
            mw_writer_put2(writer, "Less", away, mw_writer_numbers(writer, &a->window, 1));
        seen = seen ? mw_writer_put2(writer, "And", seen, near) : near;
    }
    return seen;
}

/* Whether each query sees a key, whatever the sizes; one that sees none gets 0. With a window the
 * last query must be at the place of a key. */
static bool all_see(const Attention *a)
{
    const MwOpenNumber rest = mw_open_difference(&a->keys, &a->queries);
    const MwOpenNumber behind = mw_open_difference(&rest, &a->offset);
    return mw_open_is_never_negative(&a->offset) &&
           (!a->has_window || mw_open_is_never_negative(&behind));
}

/* The least number of a type of floats. */
static double lowest(MwType type)
{
    return type == MW_F16 ? -65504 : type == MW_BF16 ? -0x1.fep127 : -FLT_MAX;
}

/* Which keys queries see beside those whose scores are -infinity. */
typedef struct {
    const char *seen;   /* bool; NULL: all */
    bool some_see_none; /* of `seen` */
    bool may_be_none;   /* all scores of a query may be -infinity */
} Seen;

/* softmax(scores) over the keys that are seen, and 0 where there is none. Where nothing is added to
 * scores, none is near the least number. */
static const char *put_softmax(const Attention *a, const char *scores, const Seen *of)
{
    MwWriter *writer = a->writer;
    const char *zero = mw_writer_number(writer, a->type, 0),
               *infinite = mw_writer_number(writer, a->type, -INFINITY);
    const bool becomes_zero = of->some_see_none && !of->may_be_none;
    if (of->seen)
        scores = mw_writer_put3(writer, "Where", of->seen, scores,
                                becomes_zero ? mw_writer_number(writer, a->type, lowest(a->type))
                                             : infinite);
    const char *shares = mw_writer_put1(writer, "Softmax", scores);
    mw_writer_int(writer, "axis", -1);
    if (becomes_zero)
        return mw_writer_put3(writer, "Where", of->seen, shares, zero);
    if (!of->may_be_none)
        return shares;
    const char *greatest =
        mw_writer_put2(writer, "ReduceMax", scores, mw_writer_integers(writer, (int64_t[]){-1}, 1));
    mw_writer_int(writer, "keepdims", 1);
    const char *is_none = mw_writer_put2(writer, "Equal", greatest, infinite);
    return mw_writer_put3(writer, "Where", is_none, zero, shares);
}

/* Queries are scaled before the product, which may be too large for f16. */
static const char *put_scores(Attention *a)
{
    MwWriter *writer = a->writer;
    const double scale = mw_node_float(a->node, MW_ATTR_SCALE);
    const double cap = mw_node_float(a->node, MW_ATTR_SOFT_CAP);
    const char *q = put_heads(writer, mw_writer_operand(writer, 0), (int64_t[]){0, 2, 1, 3});
    const char *k = put_heads(writer, mw_writer_operand(writer, 1), (int64_t[]){0, 2, 1, 3});
    k = put_heads(writer, put_repeated(a, k, 1), (int64_t[]){0, 1, 3, 2});
    q = mw_writer_put2(writer, "Mul", q, mw_writer_number(writer, a->type, scale));
    const char *scores = mw_writer_put2(writer, "MatMul", q, k);
    if (cap) {
        const char *by = mw_writer_number(writer, a->type, cap);
        scores = mw_writer_put1(writer, "Tanh", mw_writer_put2(writer, "Div", scores, by));
        scores = mw_writer_put2(writer, "Mul", scores, by);
    }
    return scores;
}

bool mw_write_sdpa(MwWriter *writer, const char *op)
{
    (void)op;
    if (writer->uses[mw_writer_result(writer, 1).index])
        return mw_writer_refuse(writer, "its log-sum-exp");
    Attention a = read_attention(writer);
    const char *scores = put_scores(&a);
    Seen of = {.seen = put_seen(&a)};
    of.some_see_none = of.seen && !all_see(&a);
    if (a.node->op == MW_OP_SDPA_MASKED) {
        const char *mask = mw_writer_operand(writer, 3);
        if (mw_writer_operand_tensor(writer, 3)->type == MW_BOOL) {
            of.seen = of.seen ? mw_writer_put2(writer, "And", of.seen, mask) : mask;
            of.some_see_none = true;
        } else {
            scores = mw_writer_put2(writer, "Add", scores, mask);
            of.may_be_none = true;
        }
    }
    const char *v = put_heads(writer, mw_writer_operand(writer, 2), (int64_t[]){0, 2, 1, 3});
    v = put_repeated(&a, v, 2);
    const char *mixed = mw_writer_put2(writer, "MatMul", put_softmax(&a, scores, &of), v);
    return mw_writer_give_own(writer, put_heads(writer, mixed, (int64_t[]){0, 2, 1, 3}));
}

/* ---- Rotary positions ---- */

/* The angles [s, 1, d / 2]: position i times base^(-2 j / d). */
static const char *put_angles(MwWriter *writer, const MwTensor *x)
{
    const double base = mw_node_float(writer->node, MW_ATTR_BASE);
    const int half = (int)(x->dim[3] / 2);
    float *rates = MW_NEW(writer->arena, float, half);
    for (int j = 0; j < half; j++)
        rates[j] = (float)pow(base, -2.0 * j / (double)x->dim[3]);
    const char *places =
        mw_writer_range(writer, mw_writer_dim(writer, writer->node->operands[0], 1));
    places = mw_writer_unsqueeze(writer, mw_writer_cast(writer, places, MW_I64, MW_F32),
                                 (int64_t[]){1, 2}, 2);
    return mw_writer_put2(writer, "Mul", places, mw_writer_floats(writer, rates, half));
}

/* (x cos - y sin, y cos + x sin) for the first half x and the second half y of a head. */
bool mw_write_rope(MwWriter *writer, const char *op)
{
    (void)op;
    const MwTensor *x = mw_writer_operand_tensor(writer, 0);
    const char *angles = put_angles(writer, x), *halves[2];
    const char *cos =
        mw_writer_cast(writer, mw_writer_put1(writer, "Cos", angles), MW_F32, x->type);
    const char *sin =
        mw_writer_cast(writer, mw_writer_put1(writer, "Sin", angles), MW_F32, x->type);
    if (mw_node_int(writer->node, MW_ATTR_INVERSE))
        sin = mw_writer_put1(writer, "Neg", sin);
    const int64_t sizes[] = {x->dim[3] / 2, x->dim[3] / 2};
    mw_writer_put_many(
        writer, "Split",
        (const char *[]){mw_writer_operand(writer, 0), mw_writer_integers(writer, sizes, 2)}, 2,
        halves, 2);
    mw_writer_int(writer, "axis", -1);
    const char *first = mw_writer_put2(writer, "Sub", mw_writer_put2(writer, "Mul", halves[0], cos),
                                       mw_writer_put2(writer, "Mul", halves[1], sin));
    const char *second =
        mw_writer_put2(writer, "Add", mw_writer_put2(writer, "Mul", halves[1], cos),
                       mw_writer_put2(writer, "Mul", halves[0], sin));
    const char *name = mw_writer_put2(writer, "Concat", first, second);
    mw_writer_int(writer, "axis", -1);
    return mw_writer_give_own(writer, name);
}
