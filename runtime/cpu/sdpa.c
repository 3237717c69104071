/* SPDX-License-Identifier: MIT */
/* Scaled dot-product attention and its gradients on the CPU.
 *
 * Each head of each batch is done in tiles of MW_SDPA_QUERY_TILE queries. The scores of a tile are
 * in the scratch operand; matrix products are OpenBLAS calls. A tile works only on the keys from
 * the first that its first query sees to the last that its last query sees. Every sum has a fixed
 * order, so that a result depends on nothing but the arguments.
 *
 * The gradient stores no scores: it recomputes the probabilities from the log-sum-exp of the
 * forward pass (Dao et al., FlashAttention, NeurIPS 2022, section 3.1 and appendix B). */
#include "base/tensor.h"
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Compiles a function for several levels of vector instructions; the program selects the best one
 * of the machine when it starts, which is before sanitizers have begun. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORIZED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORIZED
#endif

/* Partial sums of a row, so that its reduction is vectorized: two vectors of AVX2, one of
 * AVX-512. */
enum { LANES = 16 };

/* exp(x) for x <= 0 or NaN, within 2 units in the last place; 0 for x < -87. It is plain
 * arithmetic, so that loops over it are vectorized: range reduction to [-ln 2 / 2, ln 2 / 2], then
 * the Taylor series. */
static inline float exp_negative(float x)
{
    const float bounded = x < -87 ? -87 : x;
    const union {
        float f;
        uint32_t bits;
    } nearest = {.f = bounded * 1.44269504f + 12582912.0f}; /* adding 1.5 * 2^23 rounds */
    const float power = nearest.f - 12582912.0f;
    const float r = (bounded - power * 0.693359375f) + power * 2.12194440e-4f;
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r * r + r + 1;
    const union {
        uint32_t bits;
        float f;
    } scale = {.bits = (nearest.bits + 127) << 23}; /* the integer is in its lowest bits */
    return x < -87 ? 0 : series * scale.f;
}

/* tanh(x), within 4 units in the last place: up to 1/2 Lambert's continued fraction, cut after its
 * fifth term; above, by the exponential. */
static inline float bounded_tanh(float x)
{
    const float size = x < 0 ? -x : x, square = x * x;
    const float e = exp_negative(-2 * size), far = (1 - e) / (1 + e);
    const float near = x * (945 + square * (105 + square)) / (945 + square * (420 + 15 * square));
    return size < 0.5f ? near : x < 0 ? -far : far;
}

/* Replaces scores by cap * tanh(score / cap). */
VECTORIZED static void cap_scores(float *row, int64_t count, float cap)
{
    for (int64_t i = 0; i < count; i++)
        row[i] = cap * bounded_tanh(row[i] / cap);
}

/* Caps scores as cap_scores does, and replaces dp by (dp - delta) times the derivative of that. */
VECTORIZED static void cap_gradients(float *restrict row, float *restrict dp, int64_t count,
                                     float cap, float delta)
{
    for (int64_t i = 0; i < count; i++) {
        const float bent = bounded_tanh(row[i] / cap);
        dp[i] = (dp[i] - delta) * (1 - bent * bent);
        row[i] = cap * bent;
    }
}

/* Replaces `count` scores by exp(score - largest); returns the largest score and the sum of the
 * exponentials, -infinity and 0 if all scores are -infinity. */
VECTORIZED static void exponentials(float *row, int64_t count, float *largest, float *sum)
{
    float most[LANES], total[LANES] = {0};
    for (int l = 0; l < LANES; l++)
        most[l] = -INFINITY;
    int64_t whole = count - count % LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++)
            most[l] = row[i + l] > most[l] ? row[i + l] : most[l];
    for (int64_t i = whole; i < count; i++)
        most[0] = row[i] > most[0] ? row[i] : most[0];
    for (int l = 1; l < LANES; l++)
        most[0] = most[l] > most[0] ? most[l] : most[0];
    const float bias = most[0] == -INFINITY ? 0 : most[0];
    for (int64_t i = 0; i < count; i++)
        row[i] = exp_negative(row[i] - bias);
    for (int64_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++)
            total[l] += row[i + l];
    for (int64_t i = whole; i < count; i++)
        total[0] += row[i];
    for (int l = 1; l < LANES; l++)
        total[0] += total[l];
    *largest = most[0];
    *sum = total[0];
}

/* row = exp(row - lse), the probabilities; 0 if lse is -infinity, where a query sees no key. */
VECTORIZED static void probabilities(float *row, int64_t count, float lse)
{
    if (lse == -INFINITY)
        lse = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        float x = row[i] - lse;
        row[i] = exp_negative(x > 0 ? 0 : x);
    }
}

VECTORIZED static float dot(const float *a, const float *b, int64_t count)
{
    float total[LANES] = {0};
    int64_t whole = count - count % LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++)
            total[l] += a[i + l] * b[i + l];
    for (int64_t i = whole; i < count; i++)
        total[0] += a[i] * b[i];
    for (int l = 1; l < LANES; l++)
        total[0] += total[l];
    return total[0];
}

/* row = p * (row - delta) */
VECTORIZED static void score_gradients(float *restrict row, const float *restrict p, int64_t count,
                                       float delta)
{
    for (int64_t i = 0; i < count; i++)
        row[i] = p[i] * (row[i] - delta);
}

/* The operand that is added to the scores (floats) or says which keys are seen (bools), with its
 * strides in elements: 0 in a dimension in which it has one element for all. */
typedef struct {
    const void *at; /* NULL: there is none */
    bool is_bool;
    int64_t b, h, s, t;
} Mask;

/* The arguments of a call, as in routines.def: sizes, and row strides in elements. */
typedef struct {
    int64_t b, s, t, h, g, d, q_row, k_row, v_row;
    int64_t position; /* of query 0, counted from key 0; negative where it comes before that */
    int64_t window;
    bool causal;
    float scale, soft_cap;
    Mask mask;
} Sizes;

/* The stride of a dimension, of which `inner` is the number of elements of one step. */
static int64_t mask_stride(const MwKernelArg *args, int size, int64_t inner)
{
    return args[size].i > 1 ? inner : 0;
}

static Mask mask_of(const MwKernelArg *args, const void *at)
{
    const int64_t t = args[MW_SDPA_MASK_T].i, s = args[MW_SDPA_MASK_S].i * t;
    return (Mask){.at = at,
                  .is_bool = args[MW_SDPA_MASK_TYPE].i == MW_BOOL,
                  .b = mask_stride(args, MW_SDPA_MASK_B, args[MW_SDPA_MASK_H].i * s),
                  .h = mask_stride(args, MW_SDPA_MASK_H, s),
                  .s = mask_stride(args, MW_SDPA_MASK_S, t),
                  .t = mask_stride(args, MW_SDPA_MASK_T, 1)};
}

/* `mask` is the operand of that name, or NULL. */
static Sizes sizes_of(const MwKernelArg *args, const void *mask)
{
    return (Sizes){.b = args[MW_SDPA_B].i,
                   .s = args[MW_SDPA_S].i,
                   .t = args[MW_SDPA_T].i,
                   .h = args[MW_SDPA_H].i,
                   .g = args[MW_SDPA_G].i,
                   .d = args[MW_SDPA_D].i,
                   .q_row = args[MW_SDPA_Q_ROW].i,
                   .k_row = args[MW_SDPA_K_ROW].i,
                   .v_row = args[MW_SDPA_V_ROW].i,
                   .position = args[MW_SDPA_POSITION].i + args[MW_SDPA_OFFSET].i -
                               args[MW_SDPA_KEY_POSITION].i,
                   .window = args[MW_SDPA_WINDOW].i,
                   .causal = args[MW_SDPA_CAUSAL].i != 0,
                   .scale = (float)args[MW_SDPA_SCALE].f,
                   .soft_cap = (float)args[MW_SDPA_SOFT_CAP].f,
                   .mask = mask_of(args, mask)};
}

/* Keys from `begin` on, before `end`. */
typedef struct {
    int64_t begin, end;
} Keys;

/* The keys that query `s` sees, save for the mask. Both ends grow with s. */
static Keys keys_seen(const Sizes *z, int64_t s)
{
    const int64_t at = z->position + s, ahead = z->causal ? 1 : z->window;
    const int64_t end = ahead ? mw_min(z->t, mw_max(at + ahead, 0)) : z->t;
    return (Keys){z->window ? mw_min(mw_max(at - z->window + 1, 0), end) : 0, end};
}

/* The keys that `rows` queries from `s` on work on. */
static Keys keys_of_tile(const Sizes *z, int64_t s, int64_t rows)
{
    return (Keys){keys_seen(z, s).begin, keys_seen(z, s + rows - 1).end};
}

/* One head of one batch: the first element in each operand. */
typedef struct {
    int64_t b, h, g; /* batch, query head, key head */
    const float *q, *k, *v;
    int64_t query_row; /* row stride of a dense tensor with the shape of q */
    int64_t dense;     /* index in a dense tensor with the shape of q */
    int64_t lse;       /* index in lse */
    int64_t mask;      /* index in the mask */
} Head;

static Head head_at(const Sizes *z, void *const *operands, const MwKernelArg *args, int64_t b,
                    int64_t h)
{
    int64_t g = h / (z->h / z->g);
    return (Head){
        .b = b,
        .h = h,
        .g = g,
        .q = (const float *)operands[0] + args[MW_SDPA_Q_OFFSET].i + b * z->s * z->q_row + h * z->d,
        .k = (const float *)operands[1] + args[MW_SDPA_K_OFFSET].i + b * z->t * z->k_row + g * z->d,
        .v = (const float *)operands[2] + args[MW_SDPA_V_OFFSET].i + b * z->t * z->v_row + g * z->d,
        .query_row = z->h * z->d,
        .dense = (b * z->s * z->h + h) * z->d,
        .lse = b * z->s * z->h + h,
        .mask = b * z->mask.b + h * z->mask.h,
    };
}

/* A row-major operand of a product. */
typedef struct {
    const float *at;
    int64_t ld; /* row stride, in elements */
    CBLAS_TRANSPOSE transpose;
} Operand;

static Operand plain(const float *at, int64_t ld)
{
    return (Operand){at, ld, CblasNoTrans};
}

static Operand transposed(const float *at, int64_t ld)
{
    return (Operand){at, ld, CblasTrans};
}

/* c[m, n] = alpha a[m, k] b[k, n] + beta c */
typedef struct {
    int64_t m, n, k;
    float alpha, beta;
    Operand a, b;
    float *c;
    int64_t ldc;
} Product;

static void multiply(Product p)
{
    cblas_sgemm(CblasRowMajor, p.a.transpose, p.b.transpose, (blasint)p.m, (blasint)p.n,
                (blasint)p.k, p.alpha, p.a.at, (blasint)p.a.ld, p.b.at, (blasint)p.b.ld, p.beta,
                p.c, (blasint)p.ldc);
}

/* Applies the mask to the scores of query `s` of a head, of the keys `seen`. */
VECTORIZED static void mask_scores(const Mask *mask, int64_t first, Keys seen, float *row)
{
    const int64_t count = seen.end - seen.begin, at = first + seen.begin * mask->t;
    const uint8_t *bools = mask->is_bool ? (const uint8_t *)mask->at + at : NULL;
    const float *floats = mask->is_bool ? NULL : (const float *)mask->at + at;
    for (int64_t i = 0; i < count && bools; i++)
        row[i] = bools[i * mask->t] ? row[i] : -INFINITY;
    for (int64_t i = 0; i < count && floats; i++)
        row[i] += floats[i * mask->t];
}

/* Sets the elements of a row for the `keys` of a tile that are not among those `seen` to 0. */
static void clear_unseen(float *row, Keys keys, Keys seen)
{
    memset(row, 0, sizeof *row * (size_t)(seen.begin - keys.begin));
    memset(row + (seen.end - keys.begin), 0, sizeof *row * (size_t)(keys.end - seen.end));
}

static void forward_tile(const Sizes *z, const Head *head, int64_t s, int64_t rows, float *out,
                         float *lse, float *scores)
{
    const Keys keys = keys_of_tile(z, s, rows);
    const int64_t count = keys.end - keys.begin;
    float sum[MW_SDPA_QUERY_TILE] = {0};
    if (count)
        multiply((Product){rows, count, z->d, z->scale, 0, plain(head->q + s * z->q_row, z->q_row),
                           transposed(head->k + keys.begin * z->k_row, z->k_row), scores, count});
    for (int64_t r = 0; r < rows; r++) {
        const Keys seen = keys_seen(z, s + r);
        const int64_t seen_count = seen.end - seen.begin;
        float *const row = scores + r * count + (seen.begin - keys.begin), largest;
        if (z->soft_cap > 0)
            cap_scores(row, seen_count, z->soft_cap);
        if (z->mask.at)
            mask_scores(&z->mask, head->mask + (s + r) * z->mask.s, seen, row);
        exponentials(row, seen_count, &largest, &sum[r]);
        clear_unseen(scores + r * count, keys, seen);
        lse[head->lse + (s + r) * z->h] = largest + logf(sum[r]);
    }
    out += head->dense + s * head->query_row;
    if (count)
        multiply((Product){rows, z->d, count, 1, 0, plain(scores, count),
                           plain(head->v + keys.begin * z->v_row, z->v_row), out, head->query_row});
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < z->d; i++) {
            float *const element = out + r * head->query_row + i;
            *element = sum[r] == 0 ? 0 : *element / sum[r];
        }
}

typedef struct {
    float *out, *lse, *scratch;
} Results;

static void attend(const Sizes *z, void *const *operands, const MwKernelArg *args, Results to)
{
    for (int64_t b = 0; b < z->b; b++) {
        for (int64_t h = 0; h < z->h; h++) {
            const Head head = head_at(z, operands, args, b, h);
            for (int64_t s = 0; s < z->s; s += MW_SDPA_QUERY_TILE)
                forward_tile(z, &head, s, mw_min(MW_SDPA_QUERY_TILE, z->s - s), to.out, to.lse,
                             to.scratch);
        }
    }
}

bool mw_cpu_sdpa(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Sizes z = sizes_of(args, NULL);
    attend(&z, operands, args, (Results){operands[3], operands[4], operands[5]});
    (void)fault;
    return true;
}

bool mw_cpu_sdpa_masked(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Sizes z = sizes_of(args, operands[3]);
    attend(&z, operands, args, (Results){operands[4], operands[5], operands[6]});
    (void)fault;
    return true;
}

/* ---- Gradients ---- */

/* A result whose rows have their heads side by side. */
typedef struct {
    float *at;
    int64_t row; /* stride, in elements */
} Rows;

static Rows rows_of(void *operand, const MwKernelArg *args, int row, int offset)
{
    return (Rows){(float *)operand + args[offset].i, args[row].i};
}

/* The elements of a head in a row. */
static float *in_row(const Rows *rows, int64_t row, int64_t head, int64_t d)
{
    return rows->at + row * rows->row + head * d;
}

/* The operands of a gradient, besides q, k and v. */
typedef struct {
    const float *out, *lse, *dout;
    Rows dq, dk, dv;
    float *dmask;
    float *p,
        *dp; /* scratch: probabilities, and their gradients, which become those of the scores */
} Gradient;

/* Computes p and dp of a tile, [rows, keys]: the probabilities and the gradients of the masked
 * scores, or, with `to_products`, of the products of q and k, save for the scale. */
static void differentiate_tile(const Sizes *z, const Head *head, const Gradient *grad, int64_t s,
                               int64_t rows, bool to_products)
{
    const Keys keys = keys_of_tile(z, s, rows);
    const int64_t count = keys.end - keys.begin, at = head->dense + s * head->query_row;
    multiply((Product){rows, count, z->d, z->scale, 0, plain(head->q + s * z->q_row, z->q_row),
                       transposed(head->k + keys.begin * z->k_row, z->k_row), grad->p, count});
    multiply((Product){rows, count, z->d, 1, 0, plain(grad->dout + at, head->query_row),
                       transposed(head->v + keys.begin * z->v_row, z->v_row), grad->dp, count});
    for (int64_t r = 0; r < rows; r++) {
        const Keys seen = keys_seen(z, s + r);
        const int64_t seen_count = seen.end - seen.begin, skipped = seen.begin - keys.begin;
        const int64_t row = at + r * head->query_row;
        float *const p = grad->p + r * count + skipped, *const dp = grad->dp + r * count + skipped;
        float delta = dot(grad->dout + row, grad->out + row, z->d);
        if (z->soft_cap > 0 && to_products) {
            cap_gradients(p, dp, seen_count, z->soft_cap, delta);
            delta = 0;
        } else if (z->soft_cap > 0) {
            cap_scores(p, seen_count, z->soft_cap);
        }
        if (z->mask.at)
            mask_scores(&z->mask, head->mask + (s + r) * z->mask.s, seen, p);
        probabilities(p, seen_count, grad->lse[head->lse + (s + r) * z->h]);
        score_gradients(dp, p, seen_count, delta);
        clear_unseen(grad->p + r * count, keys, seen);
        clear_unseen(grad->dp + r * count, keys, seen);
    }
}

/* What is done with the tiles of a gradient. */
typedef void GradientTile(const Sizes *z, const Head *head, const Gradient *grad, int64_t s,
                          int64_t rows);

static void gradient_tile(const Sizes *z, const Head *head, const Gradient *grad, int64_t s,
                          int64_t rows)
{
    const Keys keys = keys_of_tile(z, s, rows);
    const int64_t count = keys.end - keys.begin;
    const int64_t at = head->dense + s * head->query_row, key = head->b * z->t + keys.begin;
    float *const dq = in_row(&grad->dq, head->b * z->s + s, head->h, z->d);
    if (!count) {
        for (int64_t r = 0; r < rows; r++)
            memset(dq + r * grad->dq.row, 0, sizeof(float) * (size_t)z->d);
        return;
    }
    differentiate_tile(z, head, grad, s, rows, true);
    multiply((Product){count, z->d, rows, 1, 1, transposed(grad->p, count),
                       plain(grad->dout + at, head->query_row),
                       in_row(&grad->dv, key, head->g, z->d), grad->dv.row});
    multiply((Product){rows, z->d, count, z->scale, 0, plain(grad->dp, count),
                       plain(head->k + keys.begin * z->k_row, z->k_row), dq, grad->dq.row});
    multiply((Product){count, z->d, rows, z->scale, 1, transposed(grad->dp, count),
                       plain(head->q + s * z->q_row, z->q_row),
                       in_row(&grad->dk, key, head->g, z->d), grad->dk.row});
}

/* Adds the gradients of the scores to that of the mask. */
static void mask_gradient_tile(const Sizes *z, const Head *head, const Gradient *grad, int64_t s,
                               int64_t rows)
{
    const Keys keys = keys_of_tile(z, s, rows);
    const int64_t count = keys.end - keys.begin;
    if (!count)
        return;
    differentiate_tile(z, head, grad, s, rows, false);
    for (int64_t r = 0; r < rows; r++) {
        float *const to = grad->dmask + head->mask + (s + r) * z->mask.s + keys.begin * z->mask.t;
        for (int64_t i = 0; i < count; i++)
            to[i * z->mask.t] += grad->dp[r * count + i];
    }
}

static void differentiate(const Sizes *z, void *const *operands, const MwKernelArg *args,
                          Gradient *grad, GradientTile *visit)
{
    grad->dp = grad->p + mw_min(z->s, MW_SDPA_QUERY_TILE) * z->t;
    for (int64_t b = 0; b < z->b; b++) {
        for (int64_t h = 0; h < z->h; h++) {
            const Head head = head_at(z, operands, args, b, h);
            for (int64_t s = 0; s < z->s; s += MW_SDPA_QUERY_TILE)
                visit(z, &head, grad, s, mw_min(MW_SDPA_QUERY_TILE, z->s - s));
        }
    }
}

static void clear_keys(const Sizes *z, const Rows *rows)
{
    for (int64_t row = 0; row < z->b * z->t; row++)
        memset(in_row(rows, row, 0, z->d), 0, sizeof(float) * (size_t)(z->g * z->d));
}

/* `results` are dq, dk, dv and the scratch. */
static void attend_gradient(const Sizes *z, void *const *operands, const MwKernelArg *args,
                            void *const *results)
{
    Gradient grad = {.out = operands[3],
                     .lse = operands[4],
                     .dout = operands[5],
                     .dq = rows_of(results[0], args, MW_SDPA_DQ_ROW, MW_SDPA_DQ_OFFSET),
                     .dk = rows_of(results[1], args, MW_SDPA_DK_ROW, MW_SDPA_DK_OFFSET),
                     .dv = rows_of(results[2], args, MW_SDPA_DV_ROW, MW_SDPA_DV_OFFSET),
                     .p = results[3]};
    clear_keys(z, &grad.dk);
    clear_keys(z, &grad.dv);
    differentiate(z, operands, args, &grad, gradient_tile);
}

bool mw_cpu_sdpa_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Sizes z = sizes_of(args, NULL);
    attend_gradient(&z, operands, args, operands + 6);
    (void)fault;
    return true;
}

bool mw_cpu_sdpa_masked_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Sizes z = sizes_of(args, operands[6]);
    attend_gradient(&z, operands, args, operands + 7);
    (void)fault;
    return true;
}

bool mw_cpu_sdpa_mask_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Sizes z = sizes_of(args, operands[6]);
    Gradient grad = {.out = operands[3],
                     .lse = operands[4],
                     .dout = operands[5],
                     .dmask = operands[7],
                     .p = operands[8]};
    const int64_t elements = args[MW_SDPA_MASK_B].i * args[MW_SDPA_MASK_H].i *
                             args[MW_SDPA_MASK_S].i * args[MW_SDPA_MASK_T].i;
    memset(grad.dmask, 0, sizeof(float) * (size_t)elements);
    differentiate(&z, operands, args, &grad, mask_gradient_tile);
    (void)fault;
    return true;
}
