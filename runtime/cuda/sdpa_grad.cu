/* SPDX-License-Identifier: MIT */
/* The gradient of attention on a GPU: routine sdpa_grad of runtime/plan/routines.def.
 *
 * Three kernels run one after another. The first computes delta, the dot product of the output and
 * its gradient, for every query, and stores it in the scratch operand. In the second, a block has a
 * tile of keys, iterates over all queries that see them, of all heads that share them, and sums up
 * dk and dv. In the third, a block has a tile of queries and iterates over their keys for dq. Both
 * recompute the probabilities from the log-sum-exp of the forward pass: P = exp(S - lse) and dS = P
 * (dP - delta) (Dao et al., FlashAttention, NeurIPS 2022, section 3.1 and appendix B). Two of the
 * seven products are computed twice, so that every sum is in one block and has a fixed order. Heads
 * wider than 128 are done 128 columns at a time.
 *
 * Calls in bf16 that sdpa_grad_bf16.cu does not take are computed in f32: operands are converted
 * when they are loaded.
 *
 * Resources (nvcc -Xptxas -v): 128 registers, so that 2 blocks of 256 threads fit on a
 * multiprocessor, and 52 KiB of shared memory. Of the kernels for aligned rows, dk and dv of heads
 * over 64 spill 8 bytes for 9.0, and dq of heads up to 64 spills 4 bytes for 8.0; the others spill
 * nothing. */
#include "runtime/cuda/sdpa_bf16.h"
#include "runtime/cuda/sdpa_tiles_f32.h"

enum { ROWS = 4, THREADS = TILE / ROWS * COLUMNS, WARPS = THREADS / 32 };

/* ---- delta ---- */

/* A warp does one of `rows` rows of d elements. */
static __device__ __forceinline__ void delta_of(const void *out, const void *dout, float *delta,
                                                int64_t rows, int d, Rows kind)
{
    const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    float sum = 0;
    if (row < rows)
        for (int i = (int)threadIdx.x % 32; i < d; i += 32)
            sum += mw_element_load(out, row * d + i, is_bf16(kind)) *
                   mw_element_load(dout, row * d + i, is_bf16(kind));
    for (int lanes = 1; lanes < 32; lanes *= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, lanes);
    if (row < rows && threadIdx.x % 32 == 0)
        delta[row] = sum;
}

#define KERNEL(name, kind)                                                                         \
    static __global__ void name(const void *__restrict__ out, const void *__restrict__ dout,       \
                                float *__restrict__ delta, int64_t rows, int d)                    \
    {                                                                                              \
        delta_of(out, dout, delta, rows, d, kind);                                                 \
    }
KERNEL(sdpa_delta, ANY_F32)
KERNEL(sdpa_delta_bf16, ANY_BF16)
#undef KERNEL

/* ---- dk and dv ---- */

/* The values that a block of keys takes for a tile of queries, in shared memory. */
typedef struct {
    float lse[TILE], delta[TILE];
} Queries;

/* Shared memory of a block of keys. */
typedef struct {
    Shared tiles;
    Queries *queries;
} KeyShared;

/* Loads them for the queries from `first` on. */
static __device__ __forceinline__ void load_queries(Queries *queries, const Sizes *z,
                                                    const Gradient *grad, const Place *at,
                                                    int first)
{
    const int query = first + (int)threadIdx.x;
    if (threadIdx.x >= TILE)
        return;
    const int64_t row = ((int64_t)at->b * z->s + (query < z->s ? query : 0)) * z->h + at->head;
    queries->lse[threadIdx.x] = grad->lse[row];
    queries->delta[threadIdx.x] = grad->delta[row];
}

/* Converts scores S and gradients of probabilities dP into P and dS. Rows are keys from `key` on,
 * columns are queries from `query` on. */
static __device__ __forceinline__ void differentiate_keys(float scores[MOST_ROWS][4],
                                                 float changes[MOST_ROWS][4],
                                                 const Queries *queries, const Sizes *z, int query,
                                                 int key)
{
    MW_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        const unsigned column = thread_column() + COLUMNS * j;
        const float lse = queries->lse[column], delta = queries->delta[column];
        const int asked = query + (int)column;
        const int seen = asked < z->s ? keys_seen(z, asked) - key - (int)thread_row() * ROWS : 0;
        MW_UNROLL
        for (int i = 0; i < ROWS; i++) {
            const float p = i < seen ? expf(scores[i][j] * z->scale - lse) : 0;
            scores[i][j] = p;
            changes[i][j] = p * (changes[i][j] - delta);
        }
    }
}

/* Adds the terms of the queries of one head to dk and dv. (A struct of both spills registers.) */
static __device__ __forceinline__ void add_head(float dk[MOST_ROWS][8], float dv[MOST_ROWS][8],
                                                const GradientCall *call, const Place *at,
                                                int column, const KeyShared *shared, unsigned W)
{
    const Sizes *const z = call->z;
    const Inputs *const in = call->in;
    const Gradient *const grad = call->grad;
    for (int query = first_query(z, at->first) / TILE * TILE; query < z->s; query += TILE) {
        float scores[MOST_ROWS][4] = {{0}}, changes[MOST_ROWS][4] = {{0}};
        const Place here = place_anew(at);
        const Matrix q = queries_of(z, in->q, here.b, here.head);
        const Matrix dout = dense_of(z, grad->dout, here.b, here.head);
        const Matrix k = keys_of(z, in->k, here.b, here.group);
        const Matrix v = values_of(z, in->v, here.b, here.group);
        const int key = here.first;
        load_queries(shared->queries, z, grad, &here, query);
        score_tile(scores, shared->tiles.stage, &k, key, &q, query, ROWS);
        score_tile(changes, shared->tiles.stage, &v, key, &dout, query, ROWS);
        differentiate_keys(scores, changes, shared->queries, z, query, key);
        keep_factors(shared->tiles.factors, scores, ROWS);
        add_product(dv, &shared->tiles, &dout, query, column, ROWS, W);
        keep_factors(shared->tiles.factors, changes, ROWS);
        add_product(dk, &shared->tiles, &q, query, column, ROWS, W);
    }
}

/* Computes W columns of dk and dv of a tile of keys, from `column` on. */
static __device__ __forceinline__ void key_tile(const GradientCall *call, Place at, int column,
                                                const KeyShared *shared, unsigned W)
{
    const Sizes *const z = call->z;
    const int heads = z->h / z->g;
    const int64_t stride = (int64_t)z->g * z->d;
    const float as_is[MOST_ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const float scaled[MOST_ROWS] = {z->scale, z->scale, z->scale, z->scale,
                                     z->scale, z->scale, z->scale, z->scale};
    float dk[MOST_ROWS][8] = {{0}}, dv[MOST_ROWS][8] = {{0}};
    for (at.head = at.group * heads; at.head < (at.group + 1) * heads; at.head++)
        add_head(dk, dv, call, &at, column, shared, W);
    at = place_anew(&at);
    const int keys = z->t - at.first;
    const int64_t to = (((int64_t)at.b * z->t + at.first) * z->g + at.group) * z->d;
    store_sums(target(z, call->grad->dk, to, stride, keys, column), dk, scaled, ROWS, W);
    store_sums(target(z, call->grad->dv, to, stride, keys, column), dv, as_is, ROWS, W);
}

static __device__ __forceinline__ void key_block(const GradientCall *call, unsigned W)
{
    MW_SHARED_BYTES(bytes);
    KeyShared shared;
    __shared__ Queries queries;
    const Place at = key_place(call->z, TILE, (int)blockIdx.x);
    shared.tiles.stage = (float *)bytes;
    shared.tiles.factors = shared.tiles.stage + STAGE;
    shared.queries = &queries;
    for (int column = 0; column < call->z->d; column += (int)W)
        key_tile(call, at, column, &shared, W);
}

/* ---- dq ---- */

/* The values of the thread's queries. */
typedef struct {
    float lse[ROWS], delta[ROWS];
} OwnQueries;

/* Converts scores S into dS, by the gradients of probabilities dP. Rows are queries from `query`
 * on, columns are keys from `key` on. */
static __device__ __forceinline__ void differentiate_queries(float scores[MOST_ROWS][4],
                                                             const float changes[MOST_ROWS][4],
                                                             const OwnQueries *own,
                                                             const Sizes *z, int query, int key)
{
    MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int seen = keys_seen(z, query + i) - key;
        MW_UNROLL
        for (int j = 0; j < 4; j++) {
            const float p = COLUMNS * j < seen ? expf(scores[i][j] * z->scale - own->lse[i]) : 0;
            scores[i][j] = p * (changes[i][j] - own->delta[i]);
        }
    }
}

/* Computes W columns of dq of a tile of queries, from `column` on. */
static __device__ __forceinline__ void query_tile(const GradientCall *call, const Place *at,
                                                  const OwnQueries *own, int column,
                                                  const Shared *shared, unsigned W)
{
    const Sizes *const z = call->z;
    const Inputs *const in = call->in;
    const Gradient *const grad = call->grad;
    const int query = at->first, keys = keys_of_tile(z, at->first, TILE);
    const float scaled[MOST_ROWS] = {z->scale, z->scale, z->scale, z->scale,
                                     z->scale, z->scale, z->scale, z->scale};
    float dq[MOST_ROWS][8] = {{0}};
    for (int key = 0; key < keys; key += TILE) {
        float scores[MOST_ROWS][4] = {{0}}, changes[MOST_ROWS][4] = {{0}};
        const Place here = place_anew(at);
        const Matrix q = queries_of(z, in->q, here.b, here.head);
        const Matrix dout = dense_of(z, grad->dout, here.b, here.head);
        const Matrix k = keys_of(z, in->k, here.b, here.group);
        const Matrix v = values_of(z, in->v, here.b, here.group);
        score_tile(scores, shared->stage, &q, query, &k, key, ROWS);
        score_tile(changes, shared->stage, &dout, query, &v, key, ROWS);
        differentiate_queries(scores, changes, own, z, query + (int)thread_row() * ROWS,
                              key + (int)thread_column());
        keep_factors(shared->factors, scores, ROWS);
        add_product(dq, shared, &k, key, column, ROWS, W);
    }
    store_sums(target(z, grad->dq, dense_at(z, at->b, at->head, query), (int64_t)z->h * z->d,
                      z->s - query, column),
               dq, scaled, ROWS, W);
}

static __device__ __forceinline__ void query_block(const GradientCall *call, unsigned W)
{
    MW_SHARED_BYTES(bytes);
    const Sizes *const z = call->z;
    Shared shared;
    OwnQueries own;
    const Place at = query_place(z, TILE, (int)blockIdx.x);
    shared.stage = (float *)bytes;
    shared.factors = shared.stage + STAGE;
    MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int query = at.first + (int)thread_row() * ROWS + i;
        const int64_t row = ((int64_t)at.b * z->s + (query < z->s ? query : 0)) * z->h + at.head;
        own.lse[i] = call->grad->lse[row];
        own.delta[i] = call->grad->delta[row];
    }
    for (int column = 0; column < z->d; column += (int)W)
        query_tile(call, &at, &own, column, &shared, W);
}

/* ---- The kernels: for heads up to 64, for other heads, and for rows without alignment ---- */

#define KERNEL(name, block, kind, width)                                                           \
    static __global__ void __launch_bounds__(THREADS, 2) name(Sizes z, Inputs in, Gradient grad)   \
    {                                                                                              \
        GradientCall call;                                                                         \
        z.rows = kind;                                                                             \
        call.z = &z;                                                                               \
        call.in = &in;                                                                             \
        call.grad = &grad;                                                                         \
        block(&call, width);                                                                       \
    }
KERNEL(sdpa_keys_64, key_block, ALIGNED_F32, 64)
KERNEL(sdpa_keys_wide, key_block, ALIGNED_F32, MOST_WIDTH)
KERNEL(sdpa_keys_any, key_block, ANY_F32, MOST_WIDTH)
KERNEL(sdpa_keys_any_bf16, key_block, ANY_BF16, MOST_WIDTH)
KERNEL(sdpa_queries_64, query_block, ALIGNED_F32, 64)
KERNEL(sdpa_queries_wide, query_block, ALIGNED_F32, MOST_WIDTH)
KERNEL(sdpa_queries_any, query_block, ANY_F32, MOST_WIDTH)
KERNEL(sdpa_queries_any_bf16, query_block, ANY_BF16, MOST_WIDTH)
#undef KERNEL

static void launch(const Sizes *z, const Inputs *in, const Gradient *grad, void *stream)
{
    const int key_blocks = z->b * z->g * tiles_of(z->t, TILE);
    const int query_blocks = z->b * z->h * tiles_of(z->s, TILE);
    if (is_bf16(z->rows)) {
        MW_LAUNCH_SHARED(sdpa_keys_any_bf16, key_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
        MW_LAUNCH_SHARED(sdpa_queries_any_bf16, query_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
    } else if (z->rows == ANY_F32) {
        MW_LAUNCH_SHARED(sdpa_keys_any, key_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
        MW_LAUNCH_SHARED(sdpa_queries_any, query_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
    } else if (z->d <= 64) {
        MW_LAUNCH_SHARED(sdpa_keys_64, key_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
        MW_LAUNCH_SHARED(sdpa_queries_64, query_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
    } else {
        MW_LAUNCH_SHARED(sdpa_keys_wide, key_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
        MW_LAUNCH_SHARED(sdpa_queries_wide, query_blocks, THREADS, SHARED_FLOATS * 4, stream,
                         (*z, *in, *grad));
    }
}

MW_C_BEGIN

void mw_cuda_sdpa_grad(void *const *operands, const MwKernelArg *args, void *stream)
{
    const Inputs in = inputs_of(operands, args);
    Sizes z = sizes_of(args, &in);
    Gradient grad;
    grad.lse = (const float *)operands[4];
    grad.delta = (float *)operands[9];
    grad.dout = operands[5];
    grad.dq = operands[6];
    grad.dk = operands[7];
    grad.dv = operands[8];
    const int dense[] = {3, 5, 6, 7, 8};
    for (int i = 0; i < 5; i++)
        want_aligned(&z, operands[dense[i]]);
    if (mw_cuda_sdpa_grad_bf16(&z, &in, operands[3], &grad, stream))
        return;
    const int64_t rows = (int64_t)z.b * z.s * z.h, blocks = (rows + WARPS - 1) / WARPS;
    if (is_bf16(z.rows))
        MW_LAUNCH(sdpa_delta_bf16, blocks, THREADS, stream,
                  (operands[3], grad.dout, grad.delta, rows, z.d));
    else
        MW_LAUNCH(sdpa_delta, blocks, THREADS, stream,
                  (operands[3], grad.dout, grad.delta, rows, z.d));
    launch(&z, &in, &grad, stream);
}

MW_C_END
