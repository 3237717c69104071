/* SPDX-License-Identifier: MIT */
/* Scaled dot-product attention in bf16 on tensor cores, for rows aligned to 16 bytes.
 *
 * The algorithm is that of FlashAttention-2 (Dao, 2023, sections 3.1 to 3.3). A block has a tile of
 * queries of one head, of which each warp has 16 M, and iterates over the keys that they see, KEYS
 * at a time. For every query the output so far is in registers, the largest score and the sum of
 * the exponentials are in shared memory; they are scaled down when a larger score occurs. Scores
 * never leave registers: the fragments that one product computes are, rounded, those that the next
 * one takes. Warps share only keys and values. Keys are hidden only in tiles that the diagonal, the
 * window or the end of the keys crosses; tiles that no query sees are skipped.
 *
 * Values are copied during the product that computes the scores, the next keys during the softmax
 * and the product that computes the output.
 *
 * Resources (nvcc -Xptxas -v): for heads up to 64, 168 registers, 40 bytes spilled and 36 KiB of
 * shared memory, so that 3 blocks fit on a multiprocessor; for others 255 registers, 16 bytes
 * spilled for 8.0 and none for 9.0, and 68 KiB, 2 blocks. The call for an element of a mask brings
 * most of the spills.
 *
 * Exponentials are computed as powers of 2, with the scale applied in the same multiply-add as the
 * subtraction. Probabilities are rounded to bf16; everything else is in f32. Every sum has a fixed
 * order. */
#include "runtime/cuda/sdpa_bf16.h"

#include "runtime/cuda/sdpa_tiles_bf16.h"

enum { WARPS = 4, THREADS = 32 * WARPS, M = 2, QUERIES = WARPS * M * 16, KEYS = 64 };

static __device__ __forceinline__ Tiling tiling(unsigned W)
{
    Tiling t;
    t.M = M;
    t.N = KEYS;
    t.W = W;
    t.warps = WARPS;
    return t;
}

/* The state of every lane's rows after the keys so far: the largest score, and the sum of the
 * exponentials in the lane's columns. It is in shared memory, since registers are scarce. */
typedef struct {
    float largest[2 * M][THREADS], sum[2 * M][THREADS];
} Online;

/* Caps the scores. Before and after they are products of q and k, to which the scale is still to be
 * applied. */
static __device__ __forceinline__ void cap_scores(float (*scores)[4], const Sizes *z)
{
    const float rate = z->scale * z->cap_rate, cap = z->soft_cap / z->scale;
    MW_UNROLL
    for (int n = 0; n < M * KEYS / 8; n++)
        MW_UNROLL
    for (int j = 0; j < 4; j++)
        cap_score(&scores[n][j], rate, cap);
}

/* Sets the scores of keys, from `key` on, that a query does not see to -infinity. `query` is the
 * first one of the block. */
static __device__ __forceinline__ void hide(float (*scores)[4], const Sizes *z, int query, int key)
{
    const int thread = mw_anew((int)threadIdx.x);
    const int row = query + thread / 32 * (M * 16) + thread % 32 / 4, column = key + thread % 4 * 2;
    MW_UNROLL
    for (int i = 0; i < 2 * M; i++) {
        const int begin = first_key(z, row + 8 * i) - column;
        const int end = keys_end(z, row + 8 * i) - column;
        MW_UNROLL
        for (int n = 0; n < KEYS / 8; n++)
            MW_UNROLL
        for (int j = 0; j < 2; j++)
            if (8 * n + j < begin || 8 * n + j >= end)
                scores[i / 2 * (KEYS / 8) + n][i % 2 * 2 + j] = -INFINITY;
    }
}

/* The maximum and the sum over the four lanes of a row. */
static __device__ __forceinline__ float row_largest(float value)
{
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 1));
    return fmaxf(value, __shfl_xor_sync(0xffffffff, value, 2));
}

static __device__ __forceinline__ float row_sum(float value)
{
    value += __shfl_xor_sync(0xffffffff, value, 1);
    return value + __shfl_xor_sync(0xffffffff, value, 2);
}

/* Updates the largest scores and scales the state and the output down. `scale` is for powers of 2.
 * Sets, for every row, the exponent `most` to subtract and the sum so far. */
static __device__ __forceinline__ void scale_down(float most[2 * M], float sum[2 * M],
                                                  Online *so_far, float (*out)[4],
                                                  float (*scores)[4], float scale, unsigned W)
{
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++) {
        const unsigned row = i / 2 * (KEYS / 8), out_row = i / 2 * (W / 8), j = i % 2 * 2;
        const float before = so_far->largest[i][threadIdx.x];
        float largest = before;
        MW_UNROLL
        for (unsigned n = 0; n < KEYS / 8; n++)
            largest = fmaxf(largest, fmaxf(scores[row + n][j], scores[row + n][j + 1]));
        largest = row_largest(largest);
        const float subtracted = finite_largest(largest);
        const float shrink = mw_exp2((before - subtracted) * scale);
        so_far->largest[i][threadIdx.x] = largest;
        most[i] = subtracted * scale;
        sum[i] = so_far->sum[i][threadIdx.x] * shrink;
        MW_UNROLL
        for (unsigned n = 0; n < W / 8; n++) {
            out[out_row + n][j] *= shrink;
            out[out_row + n][j + 1] *= shrink;
        }
    }
}

/* Computes the exponentials of the scores as factors, column by column, as the product takes
 * them. */
static __device__ __forceinline__ void exponentials(unsigned (*factors)[2], float sum[2 * M],
                                                    float (*scores)[4], float scale,
                                                    const float most[2 * M])
{
    MW_UNROLL
    for (unsigned n = 0; n < KEYS / 8; n++)
        MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++) {
        const unsigned at = i / 2 * (KEYS / 8) + n, j = i % 2 * 2;
        const float left = mw_exp2(scores[at][j] * scale - most[i]);
        const float right = mw_exp2(scores[at][j + 1] * scale - most[i]);
        factors[at][i % 2] = mw_bf16_pair(left, right);
        sum[i] += left + right;
    }
}

/* Updates the state and the output by the keys whose scores and values are given. */
static __device__ __forceinline__ void update(Online *so_far, float (*out)[4], float (*scores)[4],
                                              const char *v_tile, float scale, unsigned W)
{
    float most[2 * M], sum[2 * M];
    unsigned factors[M * KEYS / 8][2];
    scale_down(most, sum, so_far, out, scores, scale, W);
    exponentials(factors, sum, scores, scale, most);
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++)
        so_far->sum[i][threadIdx.x] = sum[i];
    add_product(out, factors, v_tile, M, KEYS, W);
}

/* Divides the output by the sums of the exponentials, and stores it and lse. */
static __device__ __forceinline__ void finish(const Online *so_far, const float (*sums)[4],
                                              const Sizes *z, char *tile, void *out, float *lse,
                                              unsigned W)
{
    const Place at = query_place(z, QUERIES, mw_anew((int)blockIdx.x));
    const Matrix to = dense_of(z, out, at.b, at.head);
    const unsigned row = warp_of() * M * 16, thread = (unsigned)mw_anew((int)threadIdx.x);
    float inverse[2 * MOST_M];
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++) {
        const int query = at.first + (int)(row + row_of(i));
        const float sum = row_sum(so_far->sum[i][thread]);
        inverse[i] = inverse_sum(sum);
        if (lane_of() % 4 == 0 && query < z->s)
            lse[((int64_t)at.b * z->s + query) * z->h + at.head] =
                so_far->largest[i][thread] * z->scale + logf(sum);
    }
    store_rows(&to, at.first, row, tile, sums, inverse, tiling(W));
}

static __device__ __forceinline__ void attend(const Sizes *z, const Inputs *in, void *out,
                                              float *lse, char *shared, unsigned W)
{
    const Place at = query_place(z, QUERIES, (int)blockIdx.x);
    const Matrix q = queries_of(z, in->q, at.b, at.head);
    const Matrix k = keys_of(z, in->k, at.b, at.group), v = values_of(z, in->v, at.b, at.group);
    const int keys = keys_end_of_tile(z, at.first, QUERIES), seen_by_all = keys_end(z, at.first);
    const int first = first_key_tile(z, at.first, KEYS);
    const unsigned row = warp_of() * M * 16;
    char *const q_tile = shared, *const k_tile = q_tile + tile_bytes(QUERIES, W);
    char *const v_tile = k_tile + tile_bytes(KEYS, W);
    float sums[M * MOST_WIDTH / 8][4];
    Online *const so_far = (Online *)(v_tile + tile_bytes(KEYS, W));
    clear(sums, M * W / 8);
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++) {
        so_far->largest[i][threadIdx.x] = -INFINITY;
        so_far->sum[i][threadIdx.x] = 0;
    }
    begin_tile(q_tile, &q, at.first, QUERIES, W, THREADS);
    begin_tile(k_tile, &k, first, KEYS, W, THREADS);
    mw_copies_commit();
    for (int key = first; key < keys; key += KEYS) {
        float scores[M * KEYS / 8][4];
        clear(scores, M * KEYS / 8);
        mw_copies_wait(0);
        __syncthreads();
        begin_tile(v_tile, &v, key, KEYS, W, THREADS);
        mw_copies_commit();
        add_rows_by_rows(scores, q_tile, row, k_tile, M, KEYS, W);
        mw_copies_wait(0);
        __syncthreads();
        if (key + KEYS < keys)
            begin_tile(k_tile, &k, key + KEYS, KEYS, W, THREADS);
        mw_copies_commit();
        if (z->soft_cap > 0)
            cap_scores(scores, z);
        if (z->mask.at != NULL) {
            const Place here = query_place(z, QUERIES, mw_anew((int)blockIdx.x));
            mask_scores(scores, z, &here, key, 0, M, KEYS);
        }
        if (key + KEYS > seen_by_all || key < first_key(z, mw_anew(at.first) + QUERIES - 1))
            hide(scores, z, at.first, key);
        update(so_far, sums, scores, v_tile, z->scale * LOG2_E, W);
    }
    finish(so_far, sums, z, q_tile, out, lse, W);
}

static inline unsigned shared_bytes(unsigned W)
{
    return tile_bytes(QUERIES + 2 * KEYS, W) + (unsigned)sizeof(Online);
}

/* The kernels: for heads of up to 64 elements, and for longer heads. */
#define KERNEL(name, width, blocks)                                                                \
    static __global__ void __launch_bounds__(THREADS, blocks)                                      \
        name(Sizes z, Inputs in, void *__restrict__ out, float *__restrict__ lse)                  \
    {                                                                                              \
        MW_SHARED_BYTES(shared);                                                                   \
        know_bf16(&z);                                                                             \
        attend(&z, &in, out, lse, (char *)shared, width);                                          \
    }
KERNEL(sdpa_bf16_64, 64, 3)
KERNEL(sdpa_bf16_128, MOST_WIDTH, 2)
#undef KERNEL

MW_C_BEGIN

int mw_cuda_sdpa_bf16(const Sizes *z, const Inputs *in, void *out, float *lse, void *stream)
{
    const int blocks = z->b * z->h * tiles_of(z->s, QUERIES);
    if (z->rows.type != MW_BF16 || !z->rows.is_aligned || z->d > MOST_WIDTH || !(z->scale > 0))
        return 0;
    if (z->d <= 64)
        MW_LAUNCH_SHARED(sdpa_bf16_64, blocks, THREADS, shared_bytes(64), stream,
                         (*z, *in, out, lse));
    else
        MW_LAUNCH_SHARED(sdpa_bf16_128, blocks, THREADS, shared_bytes(MOST_WIDTH), stream,
                         (*z, *in, out, lse));
    return 1;
}

MW_C_END
