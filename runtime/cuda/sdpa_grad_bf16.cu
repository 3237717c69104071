/* SPDX-License-Identifier: MIT */
/* The gradient of attention in bf16 on tensor cores, for rows aligned to 16 bytes.
 *
 * The backward pass of FlashAttention-2 (Dao, 2023, sections 3.1 to 3.3 and algorithm 2), in three
 * kernels. The first computes delta, the dot product of the rows of out and dout, for every query.
 * In the second, a block has a tile of keys and iterates over the queries that see them, of all
 * heads that share them, for dk and dv. In the third, a block has a tile of queries and iterates
 * over their keys for dq. P = exp(S - lse) and dS = P (dP - delta). The kernel for dq recomputes P
 * and dP, seven products instead of five, so that every sum is in one block and has a fixed order;
 * FlashAttention-2 sums dq up with atomics.
 *
 * In the second and third kernel a warp sums up 16 M rows (of keys, or of queries), and takes N
 * rows of the other side at a time. It computes S and dP (in the second kernel their transposes)
 * with its own rows as rows, so that P and dS, rounded to bf16, are the factors of the next
 * products without leaving registers, and warps share only what they read. The next N rows are
 * copied meanwhile to the other half of a double buffer.
 *
 * Registers, bytes spilled, shared memory in KiB and blocks on a multiprocessor, for 8.0 and 9.0
 * (nvcc -Xptxas -v):
 *
 *                      8.0                  9.0
 *     keys, 64     255   16  48.5  2    255   16  48.5  2
 *     keys, 128    255  128   129  1    255  128   129  1    of 8 warps instead of 4
 *     queries, 64  168    8    48  3    168   32    48  3
 *     queries, 128 255   16    96  1    255   16    96  2
 *
 * The call for an element of a mask brings most of the spills. */
#include "runtime/cuda/sdpa_bf16.h"

#include "runtime/cuda/sdpa_tiles_bf16.h"

/* ---- delta ---- */

enum { DELTA_THREADS = 128 };

/* The dot product of two pairs of bf16. */
static __device__ __forceinline__ float pairs_product(float a, float b)
{
    const unsigned x = __float_as_uint(a), y = __float_as_uint(b);
    return __uint_as_float(x << 16) * __uint_as_float(y << 16) +
           __uint_as_float(x & 0xffff0000u) * __uint_as_float(y & 0xffff0000u);
}

/* Computes delta for `rows` rows of d elements. W / PIECE lanes share a row; each lane reads PIECE
 * elements, 16 bytes. */
static __device__ __forceinline__ void add_delta(const void *out, const void *dout, float *delta,
                                                 int64_t rows, int d, unsigned W)
{
    const unsigned lanes = W / PIECE, piece = threadIdx.x % lanes;
    const int64_t row = (int64_t)blockIdx.x * (DELTA_THREADS / lanes) + threadIdx.x / lanes;
    float sum = 0;
    if (row < rows && (int)(piece * PIECE) < d) {
        const float4 a = *(const float4 *)((const uint16_t *)out + row * d + piece * PIECE);
        const float4 b = *(const float4 *)((const uint16_t *)dout + row * d + piece * PIECE);
        sum = pairs_product(a.x, b.x) + pairs_product(a.y, b.y) + pairs_product(a.z, b.z) +
              pairs_product(a.w, b.w);
    }
    for (unsigned other = 1; other < lanes; other *= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, other);
    if (row < rows && piece == 0)
        delta[row] = sum;
}

/* ---- Both kernels ---- */

/* Gives the exponents, for powers of 2, of two adjacent elements: element * scale - lse. */
typedef struct {
    float scale, left_lse, right_lse;
} Exponents;

static __device__ __forceinline__ Exponents exponents(float scale, float left_lse, float right_lse)
{
    Exponents e;
    e.scale = scale;
    e.left_lse = left_lse;
    e.right_lse = right_lse;
    return e;
}

/* Computes P and dS as factors from two elements of S and of dP - delta. */
static __device__ __forceinline__ void differentiate(unsigned (*p)[2], unsigned (*ds)[2],
                                                     unsigned at, unsigned half, const float *s,
                                                     const float *dp, Exponents e)
{
    const float left = mw_exp2(s[0] * e.scale - e.left_lse);
    const float right = mw_exp2(s[1] * e.scale - e.right_lse);
    p[at][half] = mw_bf16_pair(left, right);
    ds[at][half] = mw_bf16_pair(left * dp[0], right * dp[1]);
}

/* Caps scores, which before and after are products of q and k without the scale, and multiplies the
 * gradients of their probabilities by the derivatives of the cap. */
static __device__ __forceinline__ void cap_scores(float (*s)[4], float (*dp)[4], const Sizes *z,
                                                  unsigned count)
{
    const float rate = z->scale * z->cap_rate, cap = z->soft_cap / z->scale;
    MW_UNROLL
    for (unsigned n = 0; n < count; n++)
        MW_UNROLL
    for (unsigned i = 0; i < 4; i++)
        dp[n][i] *= cap_score(&s[n][i], rate, cap);
}

/* ---- dk and dv ---- */

/* One half of the double buffer: N rows of q and of dout, with lse and delta of these queries. */
typedef struct {
    char *q, *dout;
    float *lse, *delta;
} Half;

static inline __host__ __device__ unsigned half_bytes(unsigned N, unsigned W)
{
    return 2 * tile_bytes(N, W) + 2 * N * (unsigned)sizeof(float);
}

static __device__ __forceinline__ Half half_at(char *shared, unsigned N, unsigned W)
{
    Half half;
    half.q = shared;
    half.dout = half.q + tile_bytes(N, W);
    half.lse = (float *)(half.dout + tile_bytes(N, W));
    half.delta = half.lse + N;
    return half;
}

/* An iteration of a block of keys, which takes N queries of one head. */
typedef struct {
    int head;  /* counted from the first of the heads that share the keys */
    int query; /* the first of the N queries */
} Turn;

/* Returns the query at which the iterations over a head begin: the first one that sees `key`, the
 * first of the block, rounded down to a multiple of N. */
static __device__ __forceinline__ int first_turn_query(const Sizes *z, int key, unsigned N)
{
    return first_query(z, key) / (int)N * (int)N;
}

static __device__ __forceinline__ void next_turn(Turn *turn, const Sizes *z, int key, int last_key,
                                                 unsigned N)
{
    turn->query += (int)N;
    if (turn->query < queries_end(z, last_key))
        return;
    turn->query = first_turn_query(z, key, N);
    turn->head++;
}

/* Begins to copy the queries of an iteration to a half of the buffer. Queries beyond the last one
 * become 0, with a dout, lse and delta of 0, so that they add nothing. */
static __device__ __forceinline__ void begin_queries(const Half *half, const GradientCall *call,
                                                     Turn turn, Tiling t)
{
    const Sizes *const z = call->z;
    const Inputs *const in = call->in;
    const Gradient *const grad = call->grad;
    const unsigned N = t.N, W = t.W, threads = t.warps * 32;
    const Place at = key_place(z, (int)(t.warps * t.M * 16), mw_anew((int)blockIdx.x));
    const int head = at.head + turn.head;
    const Matrix q = queries_of(z, in->q, at.b, head), dout = dense_of(z, grad->dout, at.b, head);
    const unsigned thread = (unsigned)mw_anew((int)threadIdx.x), i = thread % N;
    const int is_there = turn.query + (int)i < z->s;
    const int64_t row = ((int64_t)at.b * z->s + turn.query + (int)i) * z->h + head;
    begin_tile(half->q, &q, turn.query, N, W, threads);
    begin_tile(half->dout, &dout, turn.query, N, W, threads);
    if (thread < N)
        mw_copy_begin_float(half->lse + i, grad->lse + row, is_there);
    else if (thread < 2 * N)
        mw_copy_begin_float(half->delta + i, grad->delta + row, is_there);
    mw_copies_commit();
}

/* Sets the scores of keys that a query does not see to -infinity. Rows are keys, of which `key` is
 * the first of the block; columns are queries, from `query` on. */
static __device__ __forceinline__ void hide_unseen_of_keys(float (*s)[4], const Sizes *z, int key,
                                                           int query, unsigned M, unsigned N)
{
    const int thread = mw_anew((int)threadIdx.x);
    const int64_t row = key + thread / 32 * (int)(M * 16) + thread % 32 / 4;
    const int64_t after = z->position + query + thread % 4 * 2 - row;
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++)
        MW_UNROLL
    for (unsigned n = 0; n < N / 8; n++)
        MW_UNROLL
    for (unsigned j = 0; j < 2; j++)
        if (after + 8 * (int)n + (int)j - 8 * (int)i < -z->ahead ||
            after + 8 * (int)n + (int)j - 8 * (int)i > z->behind)
            *element(s, i, n, j, N) = -INFINITY;
}

/* The tile of a block of keys. */
typedef struct {
    char *k, *v;
    int first; /* key */
} KeyTile;

/* Adds the terms of N queries to dk and dv. */
static __device__ __forceinline__ void add_queries(float (*dk)[4], float (*dv)[4], const Sizes *z,
                                                   const KeyTile *tile, const Half *half, Turn turn,
                                                   Tiling tiling)
{
    const int query = turn.query;
    const unsigned M = tiling.M, N = tiling.N, W = tiling.W;
    const int key = tile->first, last_key = key + (int)(tiling.warps * M * 16) - 1;
    const unsigned row = warp_of() * M * 16, t = lane_of() % 4;
    const float scale = z->scale * LOG2_E;
    float s[MOST_M * MOST_N / 8][4], dp[MOST_M * MOST_N / 8][4];
    unsigned p[MOST_M * MOST_N / 8][2], ds[MOST_M * MOST_N / 8][2];
    clear(s, M * N / 8);
    add_rows_by_rows(s, tile->k, row, half->q, M, N, W);
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++)
        MW_UNROLL
    for (unsigned n = 0; n < N / 8; n++)
        MW_UNROLL
    for (unsigned j = 0; j < 2; j++)
        *element(dp, i, n, j, N) = -half->delta[8 * n + 2 * t + j];
    add_rows_by_rows(dp, tile->v, row, half->dout, M, N, W);
    if (z->soft_cap > 0)
        cap_scores(s, dp, z, M * N / 8);
    if (z->mask.at != NULL) {
        Place at = key_place(z, (int)(tiling.warps * M * 16), mw_anew((int)blockIdx.x));
        at.head += turn.head;
        mask_scores(s, z, &at, query, 1, M, N);
    }
    if (last_key > z->position + query + z->ahead ||
        key < z->position + query + (int)N - 1 - z->behind)
        hide_unseen_of_keys(s, z, key, query, M, N);
    MW_UNROLL
    for (unsigned n = 0; n < N / 8; n++) {
        const float *const lse = half->lse + 8 * n + 2 * t;
        const float left = lse_to_subtract(lse[0]) * LOG2_E;
        const float right = lse_to_subtract(lse[1]) * LOG2_E;
        MW_UNROLL
        for (unsigned i = 0; i < 2 * M; i++)
            differentiate(p, ds, i / 2 * (N / 8) + n, i % 2, element(s, i, n, 0, N),
                          element(dp, i, n, 0, N), exponents(scale, left, right));
    }
    add_product(dv, p, half->dout, M, N, W);
    add_product(dk, ds, half->q, M, N, W);
}

/* Stores dk, which is scaled here, and dv of the block's keys. */
static __device__ __forceinline__ void store_keys(const Sizes *z, const Gradient *grad,
                                                  const KeyTile *tile, const float (*dk)[4],
                                                  const float (*dv)[4], Tiling t)
{
    const unsigned M = t.M;
    const Place at = key_place(z, (int)(t.warps * M * 16), mw_anew((int)blockIdx.x));
    const Matrix dk_to = result_of(z, &grad->dk, at.b, z->t, at.group);
    const Matrix dv_to = result_of(z, &grad->dv, at.b, z->t, at.group);
    const unsigned row = warp_of() * M * 16;
    float scaled[2 * MOST_M], as_is[2 * MOST_M];
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++) {
        scaled[i] = z->scale;
        as_is[i] = 1;
    }
    store_rows(&dk_to, at.first, row, tile->k, dk, scaled, t);
    store_rows(&dv_to, at.first, row, tile->v, dv, as_is, t);
}

/* Computes dk and dv for the tile of keys of a block. */
static __device__ __forceinline__ void key_block(const GradientCall *call, char *shared, Tiling t)
{
    const Sizes *const z = call->z;
    const Inputs *const in = call->in;
    const unsigned M = t.M, N = t.N, W = t.W, tile = t.warps * M * 16, threads = t.warps * 32;
    const Place at = key_place(z, (int)tile, (int)blockIdx.x);
    const Matrix k = keys_of(z, in->k, at.b, at.group), v = values_of(z, in->v, at.b, at.group);
    KeyTile keys;
    keys.k = shared;
    keys.v = keys.k + tile_bytes(tile, W);
    keys.first = at.first;
    char *const halves = keys.v + tile_bytes(tile, W);
    const int heads = z->h / z->g, last_key = at.first + (int)tile - 1;
    float dk[MOST_M * MOST_WIDTH / 8][4], dv[MOST_M * MOST_WIDTH / 8][4];
    Turn turn = {0, first_turn_query(z, at.first, N)};
    unsigned which = 0;
    clear(dk, M * W / 8);
    clear(dv, M * W / 8);
    if (turn.query < queries_end(z, last_key)) {
        const Half first = half_at(halves, N, W);
        begin_tile(keys.k, &k, at.first, tile, W, threads);
        begin_tile(keys.v, &v, at.first, tile, W, threads);
        begin_queries(&first, call, turn, t);
    } else {
        turn.head = heads; /* no query sees these keys */
    }
    while (turn.head < heads) {
        const Half half = half_at(halves + which * half_bytes(N, W), N, W);
        const Turn now = turn;
        which ^= 1;
        next_turn(&turn, z, at.first, last_key, N);
        mw_copies_wait(0);
        __syncthreads();
        if (turn.head < heads) {
            const Half next = half_at(halves + which * half_bytes(N, W), N, W);
            begin_queries(&next, call, turn, t);
        }
        add_queries(dk, dv, z, &keys, &half, now, t);
    }
    store_keys(z, call->grad, &keys, dk, dv, t);
}

/* ---- dq ---- */

/* lse, for powers of 2, and delta of the lane's queries. */
typedef struct {
    float lse[2 * MOST_M], delta[2 * MOST_M];
} Queries;

/* Sets the scores of keys that a query does not see to -infinity. Rows are queries, of which
 * `query` is the first of the block; columns are keys, from `key` on. */
static __device__ __forceinline__ void
hide_unseen_of_queries(float (*s)[4], const Sizes *z, int query, int key, unsigned M, unsigned N)
{
    const int thread = mw_anew((int)threadIdx.x);
    const int row = query + thread / 32 * (int)(M * 16) + thread % 32 / 4;
    const int column = key + thread % 4 * 2;
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++) {
        const int begin = first_key(z, row + 8 * (int)i) - column;
        const int end = keys_end(z, row + 8 * (int)i) - column;
        MW_UNROLL
        for (unsigned n = 0; n < N / 8; n++)
            MW_UNROLL
        for (unsigned j = 0; j < 2; j++)
            if (8 * (int)n + (int)j < begin || 8 * (int)n + (int)j >= end)
                *element(s, i, n, j, N) = -INFINITY;
    }
}

/* The tile of a block of queries. */
typedef struct {
    char *q, *dout;
    int first;       /* query */
    int seen_by_all; /* the end of the keys that its first query, and so all of them, sees */
} QueryTile;

/* One half of the double buffer: N keys with their values. */
typedef struct {
    char *k, *v;
    int first; /* key */
} Keys;

/* Adds the terms of N keys to dq. */
static __device__ __forceinline__ void add_keys(float (*dq)[4], const Queries *queries,
                                                const Sizes *z, const QueryTile *tile,
                                                const Keys *keys, Tiling t)
{
    const unsigned M = t.M, N = t.N, W = t.W;
    const unsigned row = warp_of() * M * 16;
    const float scale = z->scale * LOG2_E;
    float s[MOST_M * MOST_N / 8][4], dp[MOST_M * MOST_N / 8][4];
    unsigned p[MOST_M * MOST_N / 8][2], ds[MOST_M * MOST_N / 8][2];
    clear(s, M * N / 8);
    add_rows_by_rows(s, tile->q, row, keys->k, M, N, W);
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++)
        MW_UNROLL
    for (unsigned n = 0; n < N / 8; n++)
        MW_UNROLL
    for (unsigned j = 0; j < 2; j++)
        *element(dp, i, n, j, N) = -queries->delta[i];
    add_rows_by_rows(dp, tile->dout, row, keys->v, M, N, W);
    if (z->soft_cap > 0)
        cap_scores(s, dp, z, M * N / 8);
    if (z->mask.at != NULL) {
        const Place at = query_place(z, (int)(t.warps * M * 16), mw_anew((int)blockIdx.x));
        mask_scores(s, z, &at, keys->first, 0, M, N);
    }
    if (keys->first + (int)N > tile->seen_by_all ||
        keys->first < first_key(z, tile->first + (int)(t.warps * M * 16) - 1))
        hide_unseen_of_queries(s, z, tile->first, keys->first, M, N);
    MW_UNROLL
    for (unsigned n = 0; n < N / 8; n++)
        MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++)
        differentiate(p, ds, i / 2 * (N / 8) + n, i % 2, element(s, i, n, 0, N),
                      element(dp, i, n, 0, N), exponents(scale, queries->lse[i], queries->lse[i]));
    add_product(dq, ds, keys->k, M, N, W);
}

/* Begins to copy N keys, from `key` on, and their values to one half of the double buffer. */
static __device__ __forceinline__ void begin_keys(char *half, const Matrix *k, const Matrix *v,
                                                  int key, Tiling t)
{
    begin_tile(half, k, key, t.N, t.W, t.warps * 32);
    begin_tile(half + tile_bytes(t.N, t.W), v, key, t.N, t.W, t.warps * 32);
    mw_copies_commit();
}

/* Computes dq for the tile of queries of a block. */
static __device__ __forceinline__ void query_block(const GradientCall *call, char *shared, Tiling t)
{
    const Sizes *const z = call->z;
    const Inputs *const in = call->in;
    const Gradient *const grad = call->grad;
    const unsigned M = t.M, N = t.N, W = t.W, tile = t.warps * M * 16, threads = t.warps * 32;
    const unsigned row = warp_of() * M * 16;
    const Place at = query_place(z, (int)tile, (int)blockIdx.x);
    const Matrix q = queries_of(z, in->q, at.b, at.head);
    const Matrix dout = dense_of(z, grad->dout, at.b, at.head);
    const Matrix k = keys_of(z, in->k, at.b, at.group), v = values_of(z, in->v, at.b, at.group);
    const int first = first_key_tile(z, at.first, (int)N);
    const int end = keys_end_of_tile(z, at.first, (int)tile);
    QueryTile own;
    own.q = shared;
    own.dout = own.q + tile_bytes(tile, W);
    own.first = at.first;
    own.seen_by_all = keys_end(z, at.first);
    char *const halves = own.dout + tile_bytes(tile, W);
    float dq[MOST_M * MOST_WIDTH / 8][4], scaled[2 * MOST_M];
    Queries queries;
    clear(dq, M * W / 8);
    begin_tile(own.q, &q, at.first, tile, W, threads);
    begin_tile(own.dout, &dout, at.first, tile, W, threads);
    begin_keys(halves, &k, &v, first, t);
    MW_UNROLL
    for (unsigned i = 0; i < 2 * M; i++) {
        const int query = at.first + (int)(row + row_of(i)), last = z->s - 1;
        const int64_t r = ((int64_t)at.b * z->s + (query < last ? query : last)) * z->h + at.head;
        queries.lse[i] = lse_to_subtract(grad->lse[r]) * LOG2_E;
        queries.delta[i] = grad->delta[r];
        scaled[i] = z->scale;
    }
    unsigned which = 0;
    for (int key = first; key < end; key += (int)N) {
        Keys keys;
        keys.k = halves + which * 2 * tile_bytes(N, W);
        keys.v = keys.k + tile_bytes(N, W);
        keys.first = key;
        which ^= 1;
        mw_copies_wait(0);
        __syncthreads();
        if (key + (int)N < end) {
            begin_keys(halves + which * 2 * tile_bytes(N, W), &k, &v, key + (int)N, t);
        }
        add_keys(dq, &queries, z, &own, &keys, t);
    }
    const Place place = query_place(z, (int)tile, mw_anew((int)blockIdx.x));
    const Matrix to = result_of(z, &grad->dq, place.b, z->s, place.head);
    store_rows(&to, place.first, row, own.q, dq, scaled, t);
}

/* ---- The kernels: for heads of up to 64 elements, and for longer heads ---- */

/* The tilings of the kernels for keys (K) and for queries (Q). */
enum { K64_M = 2, K64_N = 32, K64_WARPS = 4 };
enum { K128_M = 1, K128_N = 64, K128_WARPS = 8 };
enum { Q64_M = 2, Q64_N = 32, Q64_WARPS = 4 };
enum { Q128_M = 2, Q128_N = 32, Q128_WARPS = 4 };

#define DELTA(name, width)                                                                         \
    static __global__ void name(const void *__restrict__ out, const void *__restrict__ dout,       \
                                float *__restrict__ delta, int64_t rows, int d)                    \
    {                                                                                              \
        add_delta(out, dout, delta, rows, d, width);                                               \
    }
DELTA(sdpa_bf16_delta_64, 64)
DELTA(sdpa_bf16_delta_128, MOST_WIDTH)
#undef DELTA

#define KERNEL(name, block, width, blocks, m, n, warp_count)                                       \
    static __global__ void __launch_bounds__(32 * warp_count, blocks)                              \
        name(Sizes z, Inputs in, Gradient grad)                                                    \
    {                                                                                              \
        MW_SHARED_BYTES(shared);                                                                   \
        GradientCall call;                                                                         \
        Tiling tiling;                                                                             \
        know_bf16(&z);                                                                             \
        call.z = &z;                                                                               \
        call.in = &in;                                                                             \
        call.grad = &grad;                                                                         \
        tiling.M = m;                                                                              \
        tiling.N = n;                                                                              \
        tiling.W = width;                                                                          \
        tiling.warps = warp_count;                                                                 \
        block(&call, (char *)shared, tiling);                                                      \
    }
KERNEL(sdpa_bf16_keys_64, key_block, 64, 2, K64_M, K64_N, K64_WARPS)
KERNEL(sdpa_bf16_keys_128, key_block, MOST_WIDTH, 1, K128_M, K128_N, K128_WARPS)
KERNEL(sdpa_bf16_queries_64, query_block, 64, 3, Q64_M, Q64_N, Q64_WARPS)
KERNEL(sdpa_bf16_queries_128, query_block, MOST_WIDTH, 2, Q128_M, Q128_N, Q128_WARPS)
#undef KERNEL

#define KEYS_BYTES(m, n, width, warps)                                                             \
    (2 * tile_bytes(16 * m * warps, width) + 2 * half_bytes(n, width))
#define KEYS(kernel, m, n, width, warps)                                                           \
    MW_LAUNCH_SHARED(kernel, z->b * z->g * tiles_of(z->t, 16 * m * warps), 32 * warps,             \
                     KEYS_BYTES(m, n, width, warps), stream, (*z, *in, *grad))
#define QUERIES(kernel, m, n, width, warps)                                                        \
    MW_LAUNCH_SHARED(kernel, z->b * z->h * tiles_of(z->s, 16 * m * warps), 32 * warps,             \
                     2 * tile_bytes(16 * m * warps, width) + 4 * tile_bytes(n, width), stream,     \
                     (*z, *in, *grad))

MW_C_BEGIN

int mw_cuda_sdpa_grad_bf16(const Sizes *z, const Inputs *in, const void *out, const Gradient *grad,
                           void *stream)
{
    const int64_t rows = (int64_t)z->b * z->s * z->h;
    const int lanes = z->d <= 64 ? 64 / PIECE : MOST_WIDTH / PIECE;
    const int64_t blocks = (rows * lanes + DELTA_THREADS - 1) / DELTA_THREADS;
    if (z->rows.type != MW_BF16 || !z->rows.is_aligned || z->d > MOST_WIDTH || !(z->scale > 0))
        return 0;
    if (z->d > 64 &&
        mw_most_shared_bytes() < (int)KEYS_BYTES(K128_M, K128_N, MOST_WIDTH, K128_WARPS))
        return 0;
    if (z->d <= 64) {
        MW_LAUNCH(sdpa_bf16_delta_64, blocks, DELTA_THREADS, stream,
                  (out, grad->dout, grad->delta, rows, z->d));
        KEYS(sdpa_bf16_keys_64, K64_M, K64_N, 64, K64_WARPS);
        QUERIES(sdpa_bf16_queries_64, Q64_M, Q64_N, 64, Q64_WARPS);
    } else {
        MW_LAUNCH(sdpa_bf16_delta_128, blocks, DELTA_THREADS, stream,
                  (out, grad->dout, grad->delta, rows, z->d));
        KEYS(sdpa_bf16_keys_128, K128_M, K128_N, MOST_WIDTH, K128_WARPS);
        QUERIES(sdpa_bf16_queries_128, Q128_M, Q128_N, MOST_WIDTH, Q128_WARPS);
    }
    return 1;
}

MW_C_END
