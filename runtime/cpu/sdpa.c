/* SPDX-License-Identifier: MIT */
/* Scaled dot-product attention and its gradient on the CPU.
 *
 * Each head of each batch is done in tiles of MW_SDPA_QUERY_TILE queries. The scores of a tile are
 * in the scratch operand; matrix products are OpenBLAS calls. With a causal mask a tile works only
 * on the keys that its last query sees. Every sum has a fixed order, so that a result depends on
 * nothing but the arguments.
 *
 * The gradient stores no scores: it recomputes the probabilities from the log-sum-exp of the
 * forward pass (Dao et al., FlashAttention, NeurIPS 2022, section 3.1 and appendix B). */
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Compiles a function for several levels of vector instructions; the program selects the best one
 * of the machine when it starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
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

/* Replaces `count` scores by exp(score - largest); returns the largest score and the sum of the
 * exponentials. */
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
    const float bias = most[0];
    for (int64_t i = 0; i < count; i++)
        row[i] = exp_negative(row[i] - bias);
    for (int64_t i = 0; i < whole; i += LANES)
        for (int l = 0; l < LANES; l++)
            total[l] += row[i + l];
    for (int64_t i = whole; i < count; i++)
        total[0] += row[i];
    for (int l = 1; l < LANES; l++)
        total[0] += total[l];
    *largest = bias;
    *sum = total[0];
}

/* row = exp(row - lse), the probabilities. */
VECTORIZED static void probabilities(float *row, int64_t count, float lse)
{
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

/* The arguments of a call, as in routines.def: sizes, and row strides in elements. */
typedef struct {
    int64_t b, s, t, h, g, d, q_row, k_row, v_row, position;
    bool causal;
    float scale;
} Sizes;

static Sizes sizes_of(const MwKernelArg *args)
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
                   .position = args[MW_SDPA_POSITION].i,
                   .causal = args[MW_SDPA_CAUSAL].i != 0,
                   .scale = (float)args[MW_SDPA_SCALE].f};
}

/* Number of keys that query `s` sees: the first ones. */
static int64_t keys_seen(const Sizes *z, int64_t s)
{
    return z->causal ? mw_min(z->t, z->position + s + 1) : z->t;
}

/* The first element of one head of one batch in each operand. */
typedef struct {
    const float *q, *k, *v;
    int64_t query_row; /* row stride of a dense tensor with the shape of q */
    int64_t dense;     /* index in a dense tensor with the shape of q */
    int64_t key_dense; /* index in a dense tensor with the shape of k */
    int64_t lse;       /* index in lse */
} Head;

static Head head_at(const Sizes *z, void *const *operands, const MwKernelArg *args, int64_t b,
                    int64_t h)
{
    int64_t g = h / (z->h / z->g);
    return (Head){
        .q = (const float *)operands[0] + args[MW_SDPA_Q_OFFSET].i + b * z->s * z->q_row + h * z->d,
        .k = (const float *)operands[1] + args[MW_SDPA_K_OFFSET].i + b * z->t * z->k_row + g * z->d,
        .v = (const float *)operands[2] + args[MW_SDPA_V_OFFSET].i + b * z->t * z->v_row + g * z->d,
        .query_row = z->h * z->d,
        .dense = (b * z->s * z->h + h) * z->d,
        .key_dense = (b * z->t * z->g + g) * z->d,
        .lse = b * z->s * z->h + h,
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

static void forward_tile(const Sizes *z, const Head *head, int64_t s, int64_t rows, float *out,
                         float *lse, float *scores)
{
    const int64_t keys = keys_seen(z, s + rows - 1);
    float sum[MW_SDPA_QUERY_TILE];
    multiply((Product){rows, keys, z->d, z->scale, 0, plain(head->q + s * z->q_row, z->q_row),
                       transposed(head->k, z->k_row), scores, keys});
    for (int64_t r = 0; r < rows; r++) {
        const int64_t seen = keys_seen(z, s + r);
        float largest;
        exponentials(scores + r * keys, seen, &largest, &sum[r]);
        memset(scores + r * keys + seen, 0, sizeof *scores * (size_t)(keys - seen));
        lse[head->lse + (s + r) * z->h] = largest + logf(sum[r]);
    }
    out += head->dense + s * head->query_row;
    multiply((Product){rows, z->d, keys, 1, 0, plain(scores, keys), plain(head->v, z->v_row), out,
                       head->query_row});
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < z->d; i++)
            out[r * head->query_row + i] /= sum[r];
}

bool mw_cpu_sdpa(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Sizes z = sizes_of(args);
    float *out = operands[3], *lse = operands[4], *scratch = operands[5];
    for (int64_t b = 0; b < z.b; b++) {
        for (int64_t h = 0; h < z.h; h++) {
            const Head head = head_at(&z, operands, args, b, h);
            for (int64_t s = 0; s < z.s; s += MW_SDPA_QUERY_TILE)
                forward_tile(&z, &head, s, mw_min(MW_SDPA_QUERY_TILE, z.s - s), out, lse, scratch);
        }
    }
    (void)fault;
    return true;
}

typedef struct {
    const float *out, *lse, *dout;
    float *dq, *dk, *dv;
    float *p,
        *dp; /* scratch: probabilities, and their gradients, which become those of the scores */
} Gradient;

static void gradient_tile(const Sizes *z, const Head *head, const Gradient *grad, int64_t s,
                          int64_t rows)
{
    const int64_t keys = keys_seen(z, s + rows - 1);
    const int64_t at = head->dense + s * head->query_row;
    const int64_t key_row = z->g * z->d;
    const float *q = head->q + s * z->q_row, *dout = grad->dout + at;
    float *p = grad->p, *dp = grad->dp;
    multiply((Product){rows, keys, z->d, z->scale, 0, plain(q, z->q_row),
                       transposed(head->k, z->k_row), p, keys});
    multiply((Product){rows, keys, z->d, 1, 0, plain(dout, head->query_row),
                       transposed(head->v, z->v_row), dp, keys});
    for (int64_t r = 0; r < rows; r++) {
        const int64_t seen = keys_seen(z, s + r);
        const int64_t row = at + r * head->query_row;
        const size_t hidden_bytes = sizeof *p * (size_t)(keys - seen);
        const float delta = dot(grad->dout + row, grad->out + row, z->d);
        probabilities(p + r * keys, seen, grad->lse[head->lse + (s + r) * z->h]);
        score_gradients(dp + r * keys, p + r * keys, seen, delta);
        memset(p + r * keys + seen, 0, hidden_bytes);
        memset(dp + r * keys + seen, 0, hidden_bytes);
    }
    multiply((Product){keys, z->d, rows, 1, 1, transposed(p, keys), plain(dout, head->query_row),
                       grad->dv + head->key_dense, key_row});
    multiply((Product){rows, z->d, keys, z->scale, 0, plain(dp, keys), plain(head->k, z->k_row),
                       grad->dq + at, head->query_row});
    multiply((Product){keys, z->d, rows, z->scale, 1, transposed(dp, keys), plain(q, z->q_row),
                       grad->dk + head->key_dense, key_row});
}

bool mw_cpu_sdpa_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Sizes z = sizes_of(args);
    const int64_t tile = mw_min(z.s, MW_SDPA_QUERY_TILE) * z.t;
    const size_t key_bytes = sizeof(float) * (size_t)(z.b * z.t * z.g * z.d);
    float *scratch = operands[9];
    const Gradient grad = {.out = operands[3],
                           .lse = operands[4],
                           .dout = operands[5],
                           .dq = operands[6],
                           .dk = operands[7],
                           .dv = operands[8],
                           .p = scratch,
                           .dp = scratch + tile};
    memset(grad.dk, 0, key_bytes);
    memset(grad.dv, 0, key_bytes);
    for (int64_t b = 0; b < z.b; b++) {
        for (int64_t h = 0; h < z.h; h++) {
            const Head head = head_at(&z, operands, args, b, h);
            for (int64_t s = 0; s < z.s; s += MW_SDPA_QUERY_TILE)
                gradient_tile(&z, &head, &grad, s, mw_min(MW_SDPA_QUERY_TILE, z.s - s));
        }
    }
    (void)fault;
    return true;
}
