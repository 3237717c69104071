/* SPDX-License-Identifier: MIT */
/* Scaled dot-product attention and its gradient on the CPU.
 *
 * For each batch and head, a tile of queries at a time: the scores of the tile stand in the scratch
 * and go through matrix products on OpenBLAS. With a causal mask a tile works on the keys that its
 * last query sees, no more. Every sum has a fixed order, so that results do not depend on anything
 * but the arguments.
 *
 * The gradient keeps no scores: it makes the probabilities again from the log-sum-exp of the
 * forward pass (Dao et al., FlashAttention, NeurIPS 2022, section 3.1 and appendix B). */
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Compiled once per level of vector instructions; the machine's best is chosen when the program
 * starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
#define VECTORIZED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORIZED
#endif

enum { LANES = 16 }; /* independent sums of a row */

/* exp(x) for x <= 0 within 2 units in the last place; 0 below -87. Plain arithmetic, so that loops
 * over it become vector instructions. Reduction to [-ln 2 / 2, ln 2 / 2], then the Taylor series.
 */
static inline float exp_negative(float x)
{
    const float bounded = x > -87 ? x : -87;
    const float nearest = bounded * 1.44269504f + 12582912.0f; /* rounds: 1.5 * 2^23 */
    const float power = nearest - 12582912.0f;
    const float r = (bounded - power * 0.693359375f) + power * 2.12194440e-4f;
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r * r + r + 1;
    union {
        int32_t i;
        float f;
    } scale = {.i = ((int32_t)power + 127) << 23};
    return x > -87 ? series * scale.f : 0;
}

/* Turns `count` scores into exp(score - largest); gives the largest and the sum. */
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

/* row = exp(row - lse): the probabilities. */
VECTORIZED static void probabilities(float *row, int64_t count, float lse)
{
    for (int64_t i = 0; i < count; i++) {
        float x = row[i] - lse;
        row[i] = exp_negative(x < 0 ? x : 0);
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

/* The sizes of a call and the strides of dense tensors. */
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

/* Keys that query `s` sees. */
static int64_t keys_seen(const Sizes *z, int64_t s)
{
    return z->causal ? mw_min(z->t, z->position + s + 1) : z->t;
}

/* Where one head of one batch begins. */
typedef struct {
    const float *q, *k, *v;
    int64_t query_row; /* row of a dense tensor like q */
    int64_t dense;     /* of that, in elements */
    int64_t key_dense; /* of a dense tensor like k, in elements */
    int64_t lse;       /* in elements */
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

/* c[m, n] = alpha op(a) op(b) + beta c */
static void product(CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b, int64_t m, int64_t n,
                    int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc)
{
    cblas_sgemm(CblasRowMajor, trans_a, trans_b, (blasint)m, (blasint)n, (blasint)k, alpha, a,
                (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}

static void forward_tile(const Sizes *z, const Head *head, int64_t s, int64_t rows, float *out,
                         float *lse, float *scores)
{
    const int64_t keys = keys_seen(z, s + rows - 1);
    float sum[MW_SDPA_QUERY_TILE];
    product(CblasNoTrans, CblasTrans, rows, keys, z->d, z->scale, head->q + s * z->q_row, z->q_row,
            head->k, z->k_row, 0, scores, keys);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t seen = keys_seen(z, s + r);
        float largest;
        exponentials(scores + r * keys, seen, &largest, &sum[r]);
        memset(scores + r * keys + seen, 0, sizeof *scores * (size_t)(keys - seen));
        lse[head->lse + (s + r) * z->h] = largest + logf(sum[r]);
    }
    out += head->dense + s * head->query_row;
    product(CblasNoTrans, CblasNoTrans, rows, z->d, keys, 1, scores, keys, head->v, z->v_row, 0,
            out, head->query_row);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < z->d; i++)
            out[r * head->query_row + i] /= sum[r];
}

void mw_cpu_sdpa(void *const *operands, const MwKernelArg *args)
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
}

typedef struct {
    const float *out, *lse, *dout;
    float *dq, *dk, *dv;
    float *p, *dp; /* scratch: probabilities and their gradients, then those of the scores */
} Gradient;

static void gradient_tile(const Sizes *z, const Head *head, const Gradient *grad, int64_t s,
                          int64_t rows)
{
    const int64_t keys = keys_seen(z, s + rows - 1);
    const int64_t at = head->dense + s * head->query_row;
    const int64_t key_row = z->g * z->d;
    const float *q = head->q + s * z->q_row, *dout = grad->dout + at;
    float *p = grad->p, *dp = grad->dp;
    product(CblasNoTrans, CblasTrans, rows, keys, z->d, z->scale, q, z->q_row, head->k, z->k_row, 0,
            p, keys);
    product(CblasNoTrans, CblasTrans, rows, keys, z->d, 1, dout, head->query_row, head->v, z->v_row,
            0, dp, keys);
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
    product(CblasTrans, CblasNoTrans, keys, z->d, rows, 1, p, keys, dout, head->query_row, 1,
            grad->dv + head->key_dense, key_row);
    product(CblasNoTrans, CblasNoTrans, rows, z->d, keys, z->scale, dp, keys, head->k, z->k_row, 0,
            grad->dq + at, head->query_row);
    product(CblasTrans, CblasNoTrans, keys, z->d, rows, z->scale, dp, keys, q, z->q_row, 1,
            grad->dk + head->key_dense, key_row);
}

void mw_cpu_sdpa_grad(void *const *operands, const MwKernelArg *args)
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
}
