/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention that is made of products and a softmax:
 *
 *     softmax(scale * q @ k + bias + mask) @ v,    q [batch, heads, queries, width], k transposed
 *
 * The factors may stand before or after the product. */
#include "frontend/onnx/match.h"
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <math.h>
#include <string.h>

/* What is added to a score so that its key is not attended to, or less. */
static const double HIDDEN = -1e30;

typedef struct {
    MwOnnxValue *q, *k, *v;  /* k transposed: [batch, heads, width, keys] */
    MwOnnxDim queries, keys; /* how many there are */
    double scale;
    MwOnnxValue *mask;  /* NULL: none */
    MwOnnxValue *bias;  /* what is added to the scores beside the mask; NULL: nothing */
    MwOnnxValue *shown; /* the mask by which shares of keys that are hidden become 0; NULL: none */
    bool hides;         /* mask is of bool, and false hides: of a `not` where `inverted` */
    bool inverted;
} Attention;

/* The value without factors that are numbers, which scale takes. */
static MwOnnxValue *without_factors(MwOnnxValue *value, double *scale)
{
    for (;;) {
        double number;
        MwOnnxValue *other;
        value = mw_onnx_before_casts(value);
        const MwOnnxNode *node = mw_onnx_made_by(value, "Mul");
        if (node && (other = mw_onnx_with_number(node, &number))) {
            *scale *= number;
            value = other;
            continue;
        }
        node = mw_onnx_made_by(value, "Div");
        if (!node || !mw_onnx_constant_number(node->inputs[1], &number))
            return value;
        *scale /= number;
        value = node->inputs[0];
    }
}

/* scale * q @ k */
static bool match_scores(MwOnnxValue *value, Attention *attention)
{
    double scale = 1;
    const MwOnnxNode *product = mw_onnx_made_by(without_factors(value, &scale), "MatMul");
    if (!product)
        return false;
    attention->q = without_factors(product->inputs[0], &scale);
    attention->k = without_factors(product->inputs[1], &scale);
    attention->scale = scale;
    return true;
}

/* Scores with something that is added, as a bias of positions is. */
static bool match_biased(MwOnnxValue *value, Attention *attention)
{
    const MwOnnxNode *sum = mw_onnx_made_before_casts(value, "Add");
    for (int i = 0; sum && i < 2; i++)
        if (match_scores(sum->inputs[i], attention)) {
            attention->bias = sum->inputs[1 - i];
            return true;
        }
    return false;
}

/* Whether a score hides its key: -infinity, or a number so low that its share is 0 beside others,
 * where the shares of keys that are hidden become 0. */
static bool hides_key(double score, MwType type, bool is_zeroed)
{
    return score == -INFINITY ||
           (is_zeroed && (score <= HIDDEN || (type == MW_F16 && score <= -65504)));
}

/* where(mask, scores, -inf), or the other way round. */
static bool match_choice(MwOnnxValue *value, Attention *attention)
{
    const MwOnnxNode *choice = mw_onnx_made_before_casts(value, "Where");
    for (int i = 1; choice && i <= 2; i++) {
        double number;
        if (!mw_onnx_constant_number(choice->inputs[3 - i], &number) ||
            !hides_key(number, value->shape.type,
                       i == 1 && choice->inputs[0] == attention->shown) ||
            (!match_scores(choice->inputs[i], attention) &&
             !match_biased(choice->inputs[i], attention)))
            continue;
        attention->mask = choice->inputs[0];
        attention->hides = true;
        attention->inverted = i == 2;
        return true;
    }
    return false;
}

/* What stands before the softmax. */
static bool match_masked(MwOnnxValue *value, Attention *attention)
{
    if (match_scores(value, attention) || match_choice(value, attention))
        return true;
    const MwOnnxNode *sum = mw_onnx_made_before_casts(value, "Add");
    for (int i = 0; sum && i < 2; i++) {
        attention->mask = sum->inputs[1 - i];
        if (match_scores(sum->inputs[i], attention) || match_biased(sum->inputs[i], attention))
            return true;
    }
    return false;
}

/* Whether a condition holds where all of a row are -infinity: equal(max(row), -infinity). */
static bool is_of_hidden_rows(const MwOnnxValue *condition, const MwOnnxValue *scores)
{
    double number;
    const MwOnnxNode *equal = mw_onnx_made_by(condition, "Equal");
    const MwOnnxNode *greatest = equal ? mw_onnx_made_by(equal->inputs[0], "ReduceMax") : NULL;
    if (!greatest || greatest->inputs[0] != scores ||
        !mw_onnx_constant_number(equal->inputs[1], &number) || number != -INFINITY)
        return false;
    const MwOnnxShape *rows = &greatest->outputs[0]->shape, *all = &scores->shape;
    bool is = rows->rank == all->rank && mw_onnx_dim_is(&rows->dim[rows->rank - 1], 1);
    for (int i = 0; is && i < all->rank - 1; i++)
        is = mw_onnx_dim_equal(&rows->dim[i], &all->dim[i]);
    return is;
}

/* The softmax, which may have 0 in the place of what a query has that sees no key: NaN; or what is
 * shared out among keys that are hidden, where `*shown` is the mask of those that are not. */
static const MwOnnxNode *softmax_of(MwOnnxValue *value, MwOnnxValue **shown)
{
    double zero;
    value = mw_onnx_before_casts(value);
    const MwOnnxNode *choice = mw_onnx_made_by(value, "Where"), *softmax;
    if (choice && mw_onnx_constant_number(choice->inputs[2], &zero) && zero == 0) {
        *shown = choice->inputs[0];
        value = mw_onnx_before_casts(choice->inputs[1]);
    } else if (choice) {
        MwOnnxValue *else_value = choice->inputs[2];
        const MwOnnxNode *is_nan = mw_onnx_made_by(choice->inputs[0], "IsNaN");
        softmax = mw_onnx_made_by(else_value, "Softmax");
        if (!((is_nan && is_nan->inputs[0] == else_value) ||
              (softmax && is_of_hidden_rows(choice->inputs[0], softmax->inputs[0]))) ||
            !mw_onnx_constant_number(choice->inputs[1], &zero) || zero != 0)
            return NULL;
        value = mw_onnx_before_casts(else_value);
    }
    softmax = mw_onnx_made_by(value, "Softmax");
    const int64_t axis = softmax ? mw_onnx_int_of(softmax, "axis", -1) : 0;
    return softmax && (axis == -1 || axis == value->shape.rank - 1) ? softmax : NULL;
}

/* Whether all are of four dimensions that fit, without any that broadcasts. */
static bool fits(Attention *attention)
{
    const MwOnnxShape *q = &attention->q->shape, *k = &attention->k->shape,
                      *v = &attention->v->shape;
    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || q->type != k->type || q->type != v->type ||
        !mw_type_is_float(q->type))
        return false;
    attention->queries = q->dim[2];
    attention->keys = k->dim[3];
    const bool batches =
        mw_onnx_dim_equal(&q->dim[0], &k->dim[0]) && mw_onnx_dim_equal(&q->dim[0], &v->dim[0]) &&
        mw_onnx_dim_equal(&q->dim[1], &k->dim[1]) && mw_onnx_dim_equal(&q->dim[1], &v->dim[1]);
    return batches && mw_onnx_dim_equal(&q->dim[3], &k->dim[2]) &&
           mw_onnx_dim_equal(&k->dim[3], &v->dim[2]);
}

/* Whether a value is [batch, heads, queries, keys], so that no mask or factor has stretched it. */
static bool is_of_scores(const MwOnnxValue *value, const Attention *attention)
{
    const MwOnnxDim *const dims[] = {&attention->q->shape.dim[0], &attention->q->shape.dim[1],
                                     &attention->queries, &attention->keys};
    bool same = value->shape.rank == 4;
    for (int i = 0; same && i < 4; i++)
        same = mw_onnx_dim_equal(&value->shape.dim[i], dims[i]);
    return same;
}

/* ---- Masks ---- */

/* Which keys a constant mask lets each query attend to. */
typedef struct {
    int64_t queries, keys;
    bool *allowed; /* [queries, keys] */
} Allowed;

/* Whether the elements are those of one matrix, for each element of the batch and each head. */
static bool repeats_matrix(const MwOnnxTensor *tensor)
{
    const int64_t matrix = tensor->dim[tensor->rank - 2] * tensor->dim[tensor->rank - 1];
    const size_t bytes = (size_t)matrix * (size_t)mw_type_bytes(tensor->type);
    bool repeats = tensor->count > 0;
    for (int64_t i = 1; repeats && i < tensor->count / matrix; i++)
        repeats = memcmp(tensor->data, (const char *)tensor->data + (size_t)i * bytes, bytes) == 0;
    return repeats;
}

/* False where it is no constant of one matrix for all queries and keys, says more than that, or
 * hides all keys of a query behind a number that is finite, which the softmax then shares out. */
static bool read_mask(MwArena *arena, const Attention *attention, Allowed *allowed)
{
    const MwOnnxValue *mask = attention->mask;
    const MwOnnxTensor *tensor = mask->constant ? mask->constant : mask->stretched;
    if (!tensor || tensor->symbolic || attention->mask->is_weight || tensor->rank < 2)
        return false;
    allowed->queries = tensor->dim[tensor->rank - 2];
    allowed->keys = tensor->dim[tensor->rank - 1];
    if (!repeats_matrix(tensor) || !mw_onnx_dim_is(&attention->queries, allowed->queries) ||
        !mw_onnx_dim_is(&attention->keys, allowed->keys))
        return false;
    allowed->allowed = MW_NEW(arena, bool, allowed->queries * allowed->keys);
    for (int64_t row = 0; row < allowed->queries; row++) {
        bool any = false, all_infinite = true;
        for (int64_t i = row * allowed->keys; i < (row + 1) * allowed->keys; i++) {
            const double number = mw_onnx_number(tensor, i);
            allowed->allowed[i] =
                attention->hides ? (number != 0) != attention->inverted : number == 0;
            if (!attention->hides && number != 0 && !(number <= HIDDEN))
                return false;
            any |= allowed->allowed[i];
            all_infinite &= attention->hides || number == -INFINITY;
        }
        if (!any && !all_infinite)
            return false;
    }
    return true;
}

/* Whether query i attends to the keys up to i + offset. */
static bool is_causal(const Allowed *allowed, int64_t offset)
{
    for (int64_t i = 0; i < allowed->queries; i++)
        for (int64_t k = 0; k < allowed->keys; k++)
            if (allowed->allowed[i * allowed->keys + k] != (k <= i + offset))
                return false;
    return true;
}

static bool hides_nothing(const Allowed *allowed)
{
    for (int64_t i = 0; i < allowed->queries * allowed->keys; i++)
        if (!allowed->allowed[i])
            return false;
    return true;
}

/* The first row tells the offset of a causal mask. */
static int64_t first_row_offset(const Allowed *allowed)
{
    int64_t offset = -1;
    while (offset + 1 < allowed->keys && allowed->allowed[offset + 1])
        offset++;
    return offset;
}

static MwOnnxTerm *mask_of(MwOnnxImport *import, const Attention *attention)
{
    MwOnnxTerm *mask = mw_onnx_term(import, attention->mask);
    return attention->inverted ? mw_onnx_emit1(import, &attention->mask->shape, "not #0", mask)
                               : mask;
}

/* Adds the bias as a mask: with the mask, which is numbers, added to it; or `as_it_is`; or with
 * -infinity where the mask hides a key. */
static bool add_bias(MwOnnxImport *import, const MwOnnxNode *node, const Attention *attention,
                     bool as_it_is, MwText *text, MwOnnxTerm **operands, int *count)
{
    MwOnnxValue *bias = attention->bias, *mask = attention->mask;
    const MwType type = attention->q->shape.type;
    MwOnnxShape shape;
    if (bias->shape.type != type || (!attention->hides && mask->shape.type != type) ||
        !mw_onnx_shape_broadcast(import, node, &bias->shape, &mask->shape, &shape) ||
        shape.rank > 4)
        return false;
    shape.type = type;
    MwOnnxTerm *term = mw_onnx_term(import, bias);
    if (!as_it_is)
        term = mw_onnx_emit2(import, &shape,
                             !attention->hides     ? "#0 + #1"
                             : attention->inverted ? "where($1, -inf, $0)"
                                                   : "where($1, $0, -inf)",
                             term, mw_onnx_term(import, mask));
    operands[*count] = term;
    mw_text_printf(text, ", mask = $%d", (*count)++);
    return true;
}

/* A mask that is computed as where(condition, 0, -inf) is its condition. */
static void take_condition(Attention *attention)
{
    const MwOnnxNode *choice =
        attention->hides ? NULL : mw_onnx_made_before_casts(attention->mask, "Where");
    for (int i = 1; choice && i <= 2; i++) {
        double shown, hidden;
        if (!mw_onnx_constant_number(choice->inputs[i], &shown) || shown != 0 ||
            !mw_onnx_constant_number(choice->inputs[3 - i], &hidden) || hidden != -INFINITY)
            continue;
        attention->mask = choice->inputs[0];
        attention->hides = true;
        attention->inverted = i == 2;
        return;
    }
}

/* Adds what a constant mask says without being an operand: false if it must be one. */
static bool add_causal(MwOnnxImport *import, const Attention *attention, MwText *text)
{
    Allowed allowed = {0};
    if (!read_mask(import->arena, attention, &allowed))
        return false;
    if (hides_nothing(&allowed))
        return true;
    const int64_t offset = first_row_offset(&allowed);
    if (allowed.queries <= 1 || !is_causal(&allowed, offset))
        return false;
    mw_text_add(text, ", causal = true");
    if (offset)
        mw_text_printf(text, ", offset = %lld", (long long)offset);
    return true;
}

/* Adds the arguments that the mask gives. `operands` are q, k, v, and then the mask, if it is one.
 */
static bool add_mask(MwOnnxImport *import, const MwOnnxNode *node, Attention *attention,
                     MwText *text, MwOnnxTerm **operands, int *count)
{
    if (!attention->mask)
        return true;
    if (attention->bias && !attention->hides)
        return add_bias(import, node, attention, false, text, operands, count);
    take_condition(attention);
    const bool is_said = add_causal(import, attention, text);
    if (attention->bias)
        return add_bias(import, node, attention, is_said, text, operands, count);
    if (is_said)
        return true;
    if (attention->mask->shape.rank > 4 ||
        (!attention->hides && attention->mask->shape.type != attention->q->shape.type))
        return false;
    operands[*count] = mask_of(import, attention);
    mw_text_printf(text, ", mask = $%d", (*count)++);
    return true;
}

/* ---- Keys and values of fewer heads ---- */

/* The node that makes [batch, groups, r, keys, width] of [batch, groups, 1, keys, width], r copies
 * of each head, if the value is that with its heads in one dimension. */
static const MwOnnxNode *repeat_of(const MwOnnxValue *value)
{
    const MwOnnxNode *merge;
    while ((merge = mw_onnx_made_before_casts(value, "Reshape"))) {
        const MwOnnxNode *stretch = mw_onnx_made_by(merge->inputs[0], "Expand");
        if (stretch)
            return stretch;
        value = merge->inputs[0];
    }
    return NULL;
}

/* The same of a value whose last two dimensions have changed places since. */
static const MwOnnxNode *repeat_before_transpose(const MwOnnxValue *value)
{
    int64_t perm[4];
    const MwOnnxNode *turn = mw_onnx_made_before_casts(value, "Transpose");
    if (turn && mw_onnx_ints_of(turn, "perm", perm, 4) == 4 && perm[0] == 0 && perm[1] == 1 &&
        perm[2] == 3)
        return repeat_of(turn->inputs[0]);
    const MwOnnxNode *split = mw_onnx_made_before_casts(value, "Reshape");
    turn = split ? mw_onnx_made_by(split->inputs[0], "Transpose") : NULL;
    if (!turn || mw_onnx_ints_of(turn, "perm", perm, 3) != 3 || perm[0] != 0 || perm[1] != 2)
        return NULL;
    return repeat_of(turn->inputs[0]);
}

/* What each head of [batch, heads, keys, width] is a copy of: [batch, groups, keys, width]. NULL if
 * the node stretches something else. */
static MwOnnxValue *before_repeat(const MwOnnxNode *stretch, const MwOnnxDim *const want[4])
{
    const MwOnnxNode *between = stretch ? mw_onnx_made_by(stretch->inputs[0], "Unsqueeze") : NULL;
    MwOnnxValue *x = between ? between->inputs[0] : NULL;
    if (!x || x->shape.rank != 4)
        return NULL;
    const MwOnnxShape *all = &stretch->outputs[0]->shape, *one = &stretch->inputs[0]->shape;
    MwOnnxDim heads;
    if (all->rank != 5 || one->rank != 5 || !mw_onnx_dim_is(&one->dim[2], 1) ||
        !mw_onnx_dim_mul(&all->dim[1], &all->dim[2], &heads) || !mw_onnx_dim_equal(&heads, want[1]))
        return NULL;
    for (int i = 0; i < 4; i++) {
        const int at = i < 2 ? i : i + 1;
        if (!mw_onnx_dim_equal(&x->shape.dim[i], &one->dim[at]) ||
            !mw_onnx_dim_equal(&x->shape.dim[i], &all->dim[at]) ||
            (i != 1 && !mw_onnx_dim_equal(&x->shape.dim[i], want[i])))
            return NULL;
    }
    return x;
}

/* The terms of q, k and v in the order of sdpa. */
static void take_operands(MwOnnxImport *import, const Attention *attention, MwOnnxTerm **operands)
{
    static const int8_t heads_third[MW_MAX_RANK] = {0, 2, 1, 3, 4, 5, 6, 7};
    static const int8_t keys_second[MW_MAX_RANK] = {0, 3, 1, 2, 4, 5, 6, 7};
    operands[0] = mw_onnx_term_in(import, attention->q, heads_third);
    const MwOnnxDim *of_k = attention->k->shape.dim, *of_v = attention->v->shape.dim;
    MwOnnxValue *k = before_repeat(repeat_before_transpose(attention->k),
                                   (const MwOnnxDim *[]){&of_k[0], &of_k[1], &of_k[3], &of_k[2]});
    MwOnnxValue *v = before_repeat(repeat_of(attention->v),
                                   (const MwOnnxDim *[]){&of_v[0], &of_v[1], &of_v[2], &of_v[3]});
    if (k && v && mw_onnx_dim_equal(&k->shape.dim[1], &v->shape.dim[1])) {
        operands[1] = mw_onnx_term_in(import, k, heads_third);
        operands[2] = mw_onnx_term_in(import, v, heads_third);
        return;
    }
    operands[1] = mw_onnx_term_in(import, attention->k, keys_second);
    operands[2] = mw_onnx_term_in(import, attention->v, heads_third);
}

/* Adds ", scale = .." where it is not what sdpa takes by itself. */
static void add_scale(MwOnnxImport *import, const MwOnnxDim *width, double scale, MwText *text)
{
    const double usual = 1 / sqrt((double)width->value);
    if (!mw_onnx_dim_is_constant(width) || fabs(scale - usual) > 1e-6 * usual)
        mw_text_printf(text, ", scale = %s", mw_onnx_number_text(import, MW_F32, scale));
}

bool mw_onnx_match_attention(MwOnnxImport *import, const MwOnnxNode *node)
{
    static const int8_t heads_third[MW_MAX_RANK] = {0, 2, 1, 3, 4, 5, 6, 7};
    Attention attention = {.v = node->inputs[1]};
    const MwOnnxNode *softmax = softmax_of(node->inputs[0], &attention.shown);
    if (!softmax || !match_masked(softmax->inputs[0], &attention) || !fits(&attention) ||
        !is_of_scores(node->inputs[0], &attention) ||
        (attention.shown && (attention.mask != attention.shown || attention.inverted)))
        return false;
    MwOnnxTerm *operands[4];
    int count = 3;
    MwText text = {.arena = import->arena};
    mw_text_add(&text, "sdpa($0, $1, $2");
    if (!add_mask(import, node, &attention, &text, operands, &count))
        return false;
    take_operands(import, &attention, operands);
    add_scale(import, &attention.q->shape.dim[3], attention.scale, &text);
    mw_text_add(&text, ")");
    MwOnnxShape shape = attention.q->shape, placed;
    shape.dim[3] = attention.v->shape.dim[3];
    placed = shape;
    for (int i = 0; i < 4; i++)
        placed.dim[i] = shape.dim[heads_third[i]];
    return mw_onnx_set(import, node, 0, &shape,
                       mw_onnx_emit(import, &placed, text.at, operands, count), heads_third);
}

/* ---- The operator Attention ---- */

/* An operand as [batch, sequence, heads, width]: it is [batch, heads, sequence, width], or has the
 * heads in one dimension with the width. NULL after a refusal. */
static MwOnnxTerm *heads_of(MwOnnxImport *import, const MwOnnxNode *node, int operand,
                            const char *heads_name)
{
    static const int8_t heads_third[MW_MAX_RANK] = {0, 2, 1, 3, 4, 5, 6, 7};
    MwOnnxValue *value = node->inputs[operand];
    const MwOnnxDim heads = mw_onnx_dim(mw_onnx_int_of(node, heads_name, 0));
    if (value->shape.rank == 4)
        return mw_onnx_term_in(import, value, heads_third);
    MwOnnxShape shape = value->shape;
    if (shape.rank != 3 || heads.value < 1 ||
        !mw_onnx_dim_div(&shape.dim[2], &heads, &shape.dim[3])) {
        mw_onnx_refuse(import, node, "operands without heads");
        return NULL;
    }
    shape.rank = 4;
    shape.dim[2] = heads;
    return mw_onnx_reshape(import, mw_onnx_term(import, value), &shape);
}

static bool check_attention(MwOnnxImport *import, const MwOnnxNode *node)
{
    const MwType type = node->inputs[0]->shape.type;
    for (int i = 4; i < node->input_count; i++)
        if (node->inputs[i])
            return mw_onnx_refuse(import, node, "keys and values of the past, or their lengths");
    const bool masks = mw_onnx_input(node, 3) || mw_onnx_int_of(node, "is_causal", 0);
    if (masks && mw_onnx_float_of(node, "softcap", 0) != 0)
        return mw_onnx_refuse(import, node, "attribute softcap beside a mask");
    if (node->inputs[1]->shape.type != type || node->inputs[2]->shape.type != type)
        return mw_onnx_refuse(import, node, "operands of several types");
    return true;
}

/* Whether a mask has all keys, or one element for all; from version 24 on a mask that has fewer
 * hides the others. */
static bool fits_keys(MwOnnxImport *import, const Attention *attention)
{
    const MwOnnxShape *shape = &attention->mask->shape;
    if (shape->rank < 1)
        return false;
    const MwOnnxDim *keys = &shape->dim[shape->rank - 1];
    return mw_onnx_shape_same_dim(import, keys, &attention->keys) ||
           (import->graph->opset < 24 && mw_onnx_dim_is(keys, 1));
}

bool mw_onnx_attention(MwOnnxImport *import, const MwOnnxNode *node)
{
    static const int8_t heads_third[MW_MAX_RANK] = {0, 2, 1, 3, 4, 5, 6, 7};
    Attention attention = {.q = node->inputs[0], .mask = mw_onnx_input(node, 3)};
    if (!check_attention(import, node))
        return false;
    attention.hides = attention.mask && attention.mask->shape.type == MW_BOOL;
    MwOnnxTerm *operands[4] = {heads_of(import, node, 0, "q_num_heads"),
                               heads_of(import, node, 1, "kv_num_heads"),
                               heads_of(import, node, 2, "kv_num_heads")};
    if (!operands[0] || !operands[1] || !operands[2])
        return false;
    MwText text = {.arena = import->arena};
    int count = 3;
    mw_text_add(&text, "sdpa($0, $1, $2");
    attention.queries = operands[0]->shape.dim[1];
    attention.keys = operands[1]->shape.dim[1];
    if (attention.mask && !fits_keys(import, &attention))
        return mw_onnx_refuse(import, node, "a mask of fewer keys");
    if (mw_onnx_int_of(node, "is_causal", 0) && attention.mask)
        return mw_onnx_refuse(import, node, "attribute is_causal beside a mask");
    if (mw_onnx_int_of(node, "is_causal", 0))
        mw_text_add(&text, ", causal = true");
    const double cap = mw_onnx_float_of(node, "softcap", 0);
    if (cap != 0)
        mw_text_printf(&text, ", soft_cap = %s", mw_onnx_number_text(import, MW_F32, cap));
    if (!add_mask(import, node, &attention, &text, operands, &count))
        return mw_onnx_refuse(import, node, "a mask of another type or rank");
    const MwOnnxDim *width = &operands[0]->shape.dim[3];
    add_scale(import, width, mw_onnx_float_of(node, "scale", 1 / sqrt((double)width->value)),
              &text);
    mw_text_add(&text, ")");
    MwOnnxShape placed = operands[0]->shape, shape = attention.q->shape;
    placed.dim[3] = operands[2]->shape.dim[3];
    MwOnnxTerm *term = mw_onnx_emit(import, &placed, text.at, operands, count);
    if (shape.rank == 4) {
        shape.dim[3] = placed.dim[3];
        return mw_onnx_set(import, node, 0, &shape, term, heads_third);
    }
    if (!mw_onnx_dim_mul(&placed.dim[2], &placed.dim[3], &shape.dim[2]))
        return mw_onnx_refuse(import, node, "a size that is too large");
    return mw_onnx_set(import, node, 0, &shape, mw_onnx_reshape(import, term, &shape), NULL);
}
