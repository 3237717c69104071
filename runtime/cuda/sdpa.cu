/* SPDX-License-Identifier: MIT */
/* Scaled dot-product attention on a GPU: routines sdpa and sdpa_masked of
 * runtime/plan/routines.def.
 *
 * A block has one tile of queries of one head and iterates over the keys that they see, tile by
 * tile. For every query it keeps the largest score, the sum of the exponentials and the output so
 * far in registers, and scales the last two down when a larger score occurs (Milakov and
 * Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, NeurIPS
 * 2022, algorithm 1, with the loops interchanged as in FlashAttention-2, Dao 2023). Scores are
 * never stored, and the scratch operand is not used. Heads wider than 128 are done 128 columns of
 * the output at a time, each time with the scores computed again. Every sum has a fixed order.
 *
 * Calls in f16, and those in bf16 that sdpa_bf16.cu does not take, are computed in f32: operands
 * are converted when they are loaded, and the output is rounded when it is stored.
 *
 * Resources (nvcc -Xptxas -v): for heads up to 64, 168 registers with 8 bytes spilled for 9.0 and
 * none for 8.0, so that 3 blocks fit on a multiprocessor; for others at most 255 registers with
 * nothing spilled, 2 blocks. 52 KiB of shared memory. */
#include "runtime/cuda/sdpa_bf16.h"
#include "runtime/cuda/sdpa_kernels.h"
#include "runtime/cuda/sdpa_tiles_f32.h"

enum { ROWS = 8, THREADS = TILE / ROWS * COLUMNS };

/* The state of the thread's rows after the keys so far. */
typedef struct {
    float largest[MOST_ROWS], sum[MOST_ROWS];
    float out[MOST_ROWS][8];
} Online;

/* Scales the scores of the thread's rows from `query` on and its columns from `key` on, caps and
 * masks them. */
static __device__ __forceinline__ void finish_scores(float scores[MOST_ROWS][4], const Sizes *z,
                                                     const Place *at, int query, int key)
{
    MW_UNROLL
    for (int i = 0; i < ROWS; i++)
        MW_UNROLL
    for (int j = 0; j < 4; j++)
        scores[i][j] *= z->scale;
    if (z->soft_cap > 0) {
        MW_UNROLL
        for (int i = 0; i < ROWS; i++)
            MW_UNROLL
        for (int j = 0; j < 4; j++)
            cap_score(&scores[i][j], z->cap_rate, z->soft_cap);
    }
    if (z->mask.at != NULL) {
        MW_UNROLL
        for (int i = 0; i < ROWS; i++)
            MW_UNROLL
        for (int j = 0; j < 4; j++)
            mask_score(&scores[i][j], z, at, query + i, key + COLUMNS * j, 1);
    }
}

/* Updates the state by the scores of keys from `key` on, which become exponentials. `query` is the
 * thread's first row. */
static __device__ __forceinline__ void update(Online *so_far, float scores[MOST_ROWS][4],
                                              const Sizes *z, int query, int key, unsigned W)
{
    MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int begin = first_key(z, query + i) - key, end = keys_end(z, query + i) - key;
        float largest = -INFINITY, sum = 0;
        MW_UNROLL
        for (int j = 0; j < 4; j++) {
            if (COLUMNS * j < begin || COLUMNS * j >= end)
                scores[i][j] = -INFINITY;
            largest = fmaxf(largest, scores[i][j]);
        }
        largest = fmaxf(so_far->largest[i], row_largest(largest));
        const float subtracted = finite_largest(largest);
        MW_UNROLL
        for (int j = 0; j < 4; j++) {
            scores[i][j] = expf(scores[i][j] - subtracted);
            sum += scores[i][j];
        }
        const float shrink = expf(so_far->largest[i] - subtracted);
        so_far->largest[i] = largest;
        so_far->sum[i] = so_far->sum[i] * shrink + row_sum(sum);
        MW_UNROLL
        for (unsigned j = 0; j < W / COLUMNS; j++)
            so_far->out[i][j] *= shrink;
    }
}

static __device__ __forceinline__ void begin(Online *so_far)
{
    MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        so_far->largest[i] = -INFINITY;
        so_far->sum[i] = 0;
        MW_UNROLL
        for (int j = 0; j < 8; j++)
            so_far->out[i][j] = 0;
    }
}

/* The results of a call. */
typedef struct {
    void *out;
    float *lse;
} Results;

static __device__ __forceinline__ void finish(const Online *so_far, const Sizes *z, const Place *at,
                                              int column, const Results *to, unsigned W)
{
    const int first = at->first;
    const unsigned r = thread_row(), c = thread_column();
    float inverse[MOST_ROWS];
    MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int query = first + (int)(r * ROWS) + i;
        inverse[i] = inverse_sum(so_far->sum[i]);
        if (column == 0 && c == 0 && query < z->s)
            to->lse[((int64_t)at->b * z->s + query) * z->h + at->head] =
                so_far->largest[i] + logf(so_far->sum[i]);
    }
    store_sums(target(z, to->out, dense_at(z, at->b, at->head, first), (int64_t)z->h * z->d,
                      z->s - first, column),
               so_far->out, inverse, ROWS, W);
}

/* Computes W columns of the tile's output, from `column` on. */
static __device__ __forceinline__ void attend(const Sizes *z, const Inputs *in, const Place *at,
                                              int column, const Results *to, const Shared *shared,
                                              unsigned W)
{
    const Matrix q = queries_of(z, in->q, at->b, at->head);
    const Matrix k = keys_of(z, in->k, at->b, at->group), v = values_of(z, in->v, at->b, at->group);
    const int keys = keys_end_of_tile(z, at->first, TILE);
    const int query = at->first + (int)thread_row() * ROWS;
    Online so_far;
    begin(&so_far);
    for (int key = first_key_tile(z, at->first, TILE); key < keys; key += TILE) {
        float scores[MOST_ROWS][4] = {{0}};
        score_tile(scores, shared->stage, &q, at->first, &k, key, ROWS);
        finish_scores(scores, z, at, query, key + (int)thread_column());
        update(&so_far, scores, z, query, key + (int)thread_column(), W);
        keep_factors(shared->factors, scores, ROWS);
        add_product(so_far.out, shared, &v, key, column, ROWS, W);
    }
    finish(&so_far, z, at, column, to, W);
}

static __device__ __forceinline__ void query_block(const Sizes *z, const Inputs *in, void *out,
                                                   float *lse, unsigned W)
{
    MW_SHARED_BYTES(bytes);
    Shared shared;
    Results to;
    const Place at = query_place(z, TILE, (int)blockIdx.x);
    shared.stage = (float *)bytes;
    shared.factors = shared.stage + STAGE;
    to.out = out;
    to.lse = lse;
    for (int column = 0; column < z->d; column += (int)W)
        attend(z, in, &at, column, &to, &shared, W);
}

/* The kernels: for heads of up to 64 elements, for longer heads, and for rows without alignment. */
#define KERNEL(name, know, width, blocks)                                                          \
    static __global__ void __launch_bounds__(THREADS, blocks)                                      \
        name(Sizes z, Inputs in, void *__restrict__ out, float *__restrict__ lse)                  \
    {                                                                                              \
        know(&z);                                                                                  \
        query_block(&z, &in, out, lse, width);                                                     \
    }
KERNEL(sdpa_64, know_f32, 64, 3)
KERNEL(sdpa_wide, know_f32, MOST_WIDTH, 2)
KERNEL(sdpa_any, know_nothing, MOST_WIDTH, 2)
#undef KERNEL

/* `results` are out and lse. */
static void run(void *const *operands, const void *mask, void *const *results,
                const MwKernelArg *args, void *stream)
{
    const Inputs in = inputs_of(operands, args);
    Sizes z = sizes_of(args, &in, mask);
    void *const out = results[0];
    float *const lse = (float *)results[1];
    want_aligned(&z, out, 0);
    const int blocks = z.b * z.h * tiles_of(z.s, TILE);
    if (mw_cuda_sdpa_bf16(&z, &in, out, lse, stream))
        return;
    if (z.rows.type != MW_F32 || !z.rows.is_aligned)
        MW_LAUNCH_SHARED(sdpa_any, blocks, THREADS, SHARED_FLOATS * 4, stream, (z, in, out, lse));
    else if (z.d <= 64)
        MW_LAUNCH_SHARED(sdpa_64, blocks, THREADS, SHARED_FLOATS * 4, stream, (z, in, out, lse));
    else
        MW_LAUNCH_SHARED(sdpa_wide, blocks, THREADS, SHARED_FLOATS * 4, stream, (z, in, out, lse));
}

MW_C_BEGIN

void mw_cuda_sdpa(void *const *operands, const MwKernelArg *args, void *stream)
{
    run(operands, NULL, operands + 3, args, stream);
}

void mw_cuda_sdpa_masked(void *const *operands, const MwKernelArg *args, void *stream)
{
    run(operands, operands[3], operands + 4, args, stream);
}

MW_C_END
