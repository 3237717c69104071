/* SPDX-License-Identifier: MIT */
/* The gradients of attention on a GPU: routines sdpa_grad, sdpa_masked_grad and sdpa_mask_grad of
 * runtime/plan/routines.def.
 *
 * Three kernels run one after another. The first computes delta, the dot product of the output and
 * its gradient, for every query, and stores it in the scratch operand. In the second, a block has a
 * tile of keys, iterates over all queries that see them, of all heads that share them, and sums up
 * dk and dv. In the third, a block has a tile of queries and iterates over their keys for dq. Both
 * recompute the probabilities from the log-sum-exp of the forward pass: P = exp(S - lse) and dS = P
 * (dP - delta) (Dao et al., FlashAttention, NeurIPS 2022, section 3.1 and appendix B). Two of the
 * seven products are computed twice, so that every sum is in one block and has a fixed order. Heads
 * wider than 128 are done 128 columns at a time. The gradient of a mask is another kernel, in which
 * a block has a tile of the mask and iterates over what the mask is stretched over.
 *
 * Calls in f16, and those in bf16 that sdpa_grad_bf16.cu does not take, are computed in f32:
 * operands are converted when they are loaded.
 *
 * Resources (nvcc -Xptxas -v): 128 registers, so that 2 blocks of 256 threads fit on a
 * multiprocessor, and 52 KiB of shared memory. dk and dv of heads over 64 spill 4 bytes for
 * 9.0; the others spill nothing. */
#include "runtime/cuda/sdpa_bf16.h"
#include "runtime/cuda/sdpa_kernels.h"
#include "runtime/cuda/sdpa_tiles_f32.h"

enum { ROWS = 4, THREADS = TILE / ROWS * COLUMNS, WARPS = THREADS / 32 };

/* ---- delta ---- */

/* A warp does one of `rows` rows of d elements. */
static __global__ void sdpa_delta(const void *__restrict__ out, const void *__restrict__ dout,
                                  float *__restrict__ delta, int64_t rows, int d, MwType type)
{
    const int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    float sum = 0;
    if (row < rows)
        for (int i = (int)threadIdx.x % 32; i < d; i += 32)
            sum +=
                mw_element_load(out, row * d + i, type) * mw_element_load(dout, row * d + i, type);
    for (int lanes = 1; lanes < 32; lanes *= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, lanes);
    if (row < rows && threadIdx.x % 32 == 0)
        delta[row] = sum;
}

/* A thread does one of `count` elements. */
static __global__ void sdpa_lse_by_head(const float *__restrict__ lse, float *__restrict__ to,
                                        int64_t count, int s, int h)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t head = i / s, row = i % s;
    if (i < count)
        to[i] = lse[(head / h * s + row) * h + head % h];
}

/* Caps scores, and multiplies the gradients of their probabilities by the derivatives. */
static __device__ __forceinline__ void cap_scores(float scores[MOST_ROWS][4],
                                                  float changes[MOST_ROWS][4], const Sizes *z)
{
    MW_UNROLL
    for (int i = 0; i < ROWS; i++)
        MW_UNROLL
    for (int j = 0; j < 4; j++)
        changes[i][j] *= cap_score(&scores[i][j], z->cap_rate, z->soft_cap);
}

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
static __device__ __forceinline__ void
load_queries(Queries *queries, const Sizes *z, const Gradient *grad, const Place *at, int first)
{
    const int query = first + (int)threadIdx.x;
    if (threadIdx.x >= TILE)
        return;
    const int64_t row = ((int64_t)at->b * z->s + (query < z->s ? query : 0)) * z->h + at->head;
    queries->lse[threadIdx.x] = lse_to_subtract(grad->lse[row]);
    queries->delta[threadIdx.x] = grad->delta[row];
}

/* Converts products S of queries and keys, and gradients of probabilities dP, into P and dS. Rows
 * are keys from that of the block on, columns are queries from `query` on. */
static __device__ __forceinline__ void differentiate_keys(float scores[MOST_ROWS][4],
                                                          float changes[MOST_ROWS][4],
                                                          const Queries *queries, const Sizes *z,
                                                          const Place *at, int query)
{
    const int key = at->first + (int)thread_row() * ROWS;
    MW_UNROLL
    for (unsigned j = 0; j < 4; j++)
        MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        scores[i][j] *= z->scale;
        changes[i][j] -= queries->delta[thread_column() + COLUMNS * j];
    }
    if (z->soft_cap > 0)
        cap_scores(scores, changes, z);
    if (z->mask.at != NULL) {
        MW_UNROLL
        for (unsigned j = 0; j < 4; j++)
            MW_UNROLL
        for (int i = 0; i < ROWS; i++)
            mask_score(&scores[i][j], z, at, query + (int)(thread_column() + COLUMNS * j), key + i,
                       1);
    }
    MW_UNROLL
    for (unsigned j = 0; j < 4; j++) {
        const unsigned column = thread_column() + COLUMNS * j;
        const int asked = query + (int)column;
        const int begin = first_key(z, asked) - key;
        const int end = asked < z->s ? keys_end(z, asked) - key : begin;
        MW_UNROLL
        for (int i = 0; i < ROWS; i++) {
            const float p = i >= begin && i < end ? expf(scores[i][j] - queries->lse[column]) : 0;
            scores[i][j] = p;
            changes[i][j] *= p;
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
    const int last = queries_end(z, at->first + TILE - 1);
    for (int query = first_query(z, at->first) / TILE * TILE; query < last; query += TILE) {
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
        differentiate_keys(scores, changes, shared->queries, z, &here, query);
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
    const Gradient *const grad = call->grad;
    const int heads = z->h / z->g;
    const float as_is[MOST_ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const float scaled[MOST_ROWS] = {z->scale, z->scale, z->scale, z->scale,
                                     z->scale, z->scale, z->scale, z->scale};
    float dk[MOST_ROWS][8] = {{0}}, dv[MOST_ROWS][8] = {{0}};
    for (at.head = at.group * heads; at.head < (at.group + 1) * heads; at.head++)
        add_head(dk, dv, call, &at, column, shared, W);
    at = place_anew(&at);
    const int keys = z->t - at.first;
    const int64_t dk_at = result_at(z, &grad->dk, at.b, z->t, at.group, at.first);
    const int64_t dv_at = result_at(z, &grad->dv, at.b, z->t, at.group, at.first);
    store_sums(target(z, grad->dk.at, dk_at, grad->dk.row, keys, column), dk, scaled, ROWS, W);
    store_sums(target(z, grad->dv.at, dv_at, grad->dv.row, keys, column), dv, as_is, ROWS, W);
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

/* Converts products S of queries and keys into dS, by the gradients of probabilities dP: those of
 * the masked scores, or, with `to_products`, of the products. Rows are queries from that of the
 * block on, columns are keys from `key` on. */
static __device__ __forceinline__ void differentiate_queries(float scores[MOST_ROWS][4],
                                                             float changes[MOST_ROWS][4],
                                                             const OwnQueries *own, const Sizes *z,
                                                             const Place *at, int key,
                                                             int to_products)
{
    const int query = at->first + (int)thread_row() * ROWS, column = key + (int)thread_column();
    float unused[MOST_ROWS][4] = {{0}};
    MW_UNROLL
    for (int i = 0; i < ROWS; i++)
        MW_UNROLL
    for (int j = 0; j < 4; j++) {
        scores[i][j] *= z->scale;
        changes[i][j] -= own->delta[i];
    }
    if (z->soft_cap > 0)
        cap_scores(scores, to_products ? changes : unused, z);
    if (z->mask.at != NULL) {
        MW_UNROLL
        for (int i = 0; i < ROWS; i++)
            MW_UNROLL
        for (int j = 0; j < 4; j++)
            mask_score(&scores[i][j], z, at, query + i, column + COLUMNS * j, 1);
    }
    MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int begin = first_key(z, query + i) - column;
        const int end = keys_end(z, query + i) - column;
        MW_UNROLL
        for (int j = 0; j < 4; j++) {
            const float p =
                COLUMNS * j >= begin && COLUMNS * j < end ? expf(scores[i][j] - own->lse[i]) : 0;
            scores[i][j] = p * changes[i][j];
        }
    }
}

static __device__ __forceinline__ void load_own(OwnQueries *own, const Sizes *z,
                                                const Gradient *grad, const Place *at)
{
    MW_UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int query = at->first + (int)thread_row() * ROWS + i;
        const int64_t row = ((int64_t)at->b * z->s + (query < z->s ? query : 0)) * z->h + at->head;
        own->lse[i] = lse_to_subtract(grad->lse[row]);
        own->delta[i] = grad->delta[row];
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
    const int query = at->first, keys = keys_end_of_tile(z, at->first, TILE);
    const float scaled[MOST_ROWS] = {z->scale, z->scale, z->scale, z->scale,
                                     z->scale, z->scale, z->scale, z->scale};
    float dq[MOST_ROWS][8] = {{0}};
    for (int key = first_key_tile(z, query, TILE); key < keys; key += TILE) {
        float scores[MOST_ROWS][4] = {{0}}, changes[MOST_ROWS][4] = {{0}};
        const Place here = place_anew(at);
        const Matrix q = queries_of(z, in->q, here.b, here.head);
        const Matrix dout = dense_of(z, grad->dout, here.b, here.head);
        const Matrix k = keys_of(z, in->k, here.b, here.group);
        const Matrix v = values_of(z, in->v, here.b, here.group);
        score_tile(scores, shared->stage, &q, query, &k, key, ROWS);
        score_tile(changes, shared->stage, &dout, query, &v, key, ROWS);
        differentiate_queries(scores, changes, own, z, &here, key, 1);
        keep_factors(shared->factors, scores, ROWS);
        add_product(dq, shared, &k, key, column, ROWS, W);
    }
    const Place here = place_anew(at);
    store_sums(target(z, grad->dq.at, result_at(z, &grad->dq, here.b, z->s, here.head, here.first),
                      grad->dq.row, z->s - here.first, column),
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
    load_own(&own, z, call->grad, &at);
    for (int column = 0; column < z->d; column += (int)W)
        query_tile(call, &at, &own, column, &shared, W);
}

/* ---- dmask ---- */

/* From `first` on, before `end`. */
typedef struct {
    int first, end;
} Range;

static __device__ __forceinline__ Range range(int first, int end)
{
    Range r;
    r.first = first;
    r.end = end;
    return r;
}

/* What the element `which` of the mask in a dimension stands for: itself, or all `count`. */
static __device__ __forceinline__ Range stands_for(int which, int64_t stride, int count)
{
    return stride ? range(which, which + 1) : range(0, count);
}

/* The same for a tile. */
static __device__ __forceinline__ Range tile_stands_for(int which, int64_t stride, int count)
{
    return stride ? range(which * TILE, which * TILE + 1) : range(0, count);
}

/* The tiles of the mask: numbers along its dimensions, 1 in those that it is stretched over. */
typedef struct {
    int b, h, s, t;
} MaskTiles;

static inline __host__ __device__ MaskTiles mask_tiles(const Sizes *z)
{
    MaskTiles tiles;
    tiles.b = z->mask.b ? z->b : 1;
    tiles.h = z->mask.h ? z->h : 1;
    tiles.s = z->mask.s ? tiles_of(z->s, TILE) : 1;
    tiles.t = z->mask.t ? tiles_of(z->t, TILE) : 1;
    return tiles;
}

/* Adds the gradients of the masked scores of a tile. */
static __device__ __forceinline__ void add_mask_tile(float sums[MOST_ROWS][4],
                                                     const GradientCall *call, const Place *at,
                                                     int key, float *stage)
{
    const Sizes *const z = call->z;
    const Inputs *const in = call->in;
    const Matrix q = queries_of(z, in->q, at->b, at->head);
    const Matrix dout = dense_of(z, call->grad->dout, at->b, at->head);
    const Matrix k = keys_of(z, in->k, at->b, at->group), v = values_of(z, in->v, at->b, at->group);
    float scores[MOST_ROWS][4] = {{0}}, changes[MOST_ROWS][4] = {{0}};
    OwnQueries own;
    load_own(&own, z, call->grad, at);
    score_tile(scores, stage, &q, at->first, &k, key, ROWS);
    score_tile(changes, stage, &dout, at->first, &v, key, ROWS);
    differentiate_queries(scores, changes, &own, z, at, key, 0);
    MW_UNROLL
    for (int i = 0; i < ROWS; i++)
        MW_UNROLL
    for (int j = 0; j < 4; j++)
        sums[i][j] += at->first + (int)thread_row() * ROWS + i < z->s ? scores[i][j] : 0;
}

/* Stores the sums of a tile, whose first element is `first` of dmask, [rows, columns]. They are
 * added up over the dimensions that the mask is stretched over, each in order. */
static __device__ __forceinline__ void store_mask_tile(const float sums[MOST_ROWS][4],
                                                       const Sizes *z, void *dmask, int64_t first,
                                                       int rows, int columns, float *tile)
{
    const int thread = (int)threadIdx.x;
    MW_UNROLL
    for (int i = 0; i < ROWS; i++)
        MW_UNROLL
    for (int j = 0; j < 4; j++)
        tile[((int)thread_row() * ROWS + i) * TILE + (int)thread_column() + COLUMNS * j] =
            sums[i][j];
    __syncthreads();
    if (!z->mask.t && thread < TILE)
        for (int c = 1; c < TILE; c++)
            tile[thread * TILE] += tile[thread * TILE + c];
    __syncthreads();
    if (!z->mask.s && thread < TILE)
        for (int r = 1; r < TILE; r++)
            tile[thread] += tile[r * TILE + thread];
    __syncthreads();
    for (int i = thread; i < TILE * TILE; i += THREADS)
        if (i / TILE < rows && i % TILE < columns)
            mw_element_store(dmask, first + i / TILE * z->mask.s + i % TILE * z->mask.t,
                             z->rows.type, tile[i]);
}

static __device__ __forceinline__ void mask_block(const GradientCall *call, void *dmask)
{
    MW_SHARED_BYTES(bytes);
    const Sizes *const z = call->z;
    const Mask *const mask = &z->mask;
    const MaskTiles tiles = mask_tiles(z);
    const int t = (int)blockIdx.x % tiles.t, s = (int)blockIdx.x / tiles.t % tiles.s;
    const int plane = (int)blockIdx.x / tiles.t / tiles.s, h = plane % tiles.h, b = plane / tiles.h;
    const Range batches = stands_for(b, mask->b, z->b), heads = stands_for(h, mask->h, z->h);
    const Range queries = tile_stands_for(s, mask->s, z->s);
    const Range keys = tile_stands_for(t, mask->t, z->t);
    float sums[MOST_ROWS][4] = {{0}};
    Place at;
    for (at.b = batches.first; at.b < batches.end; at.b++)
        for (at.head = heads.first; at.head < heads.end; at.head++)
            for (at.first = queries.first; at.first < queries.end; at.first += TILE) {
                const int end = keys_end_of_tile(z, at.first, TILE);
                const int begin = first_key_tile(z, at.first, TILE);
                at.group = at.head / (z->h / z->g);
                for (int key = keys.first; key < keys.end && key < end; key += TILE)
                    if (key >= begin)
                        add_mask_tile(sums, call, &at, key, (float *)bytes);
            }
    store_mask_tile(sums, z, dmask,
                    b * mask->b + h * mask->h + s * TILE * mask->s + t * TILE * mask->t,
                    mask->s ? z->s - s * TILE : 1, mask->t ? z->t - t * TILE : 1, (float *)bytes);
}

static __global__ void __launch_bounds__(THREADS, 2)
    sdpa_mask(Sizes z, Inputs in, Gradient grad, void *__restrict__ dmask)
{
    GradientCall call;
    know_nothing(&z);
    call.z = &z;
    call.in = &in;
    call.grad = &grad;
    mask_block(&call, dmask);
}

/* ---- The kernels: for heads up to 64, for other heads, and for rows without alignment ---- */

#define KERNEL(name, block, know, width)                                                           \
    static __global__ void __launch_bounds__(THREADS, 2) name(Sizes z, Inputs in, Gradient grad)   \
    {                                                                                              \
        GradientCall call;                                                                         \
        know(&z);                                                                                  \
        call.z = &z;                                                                               \
        call.in = &in;                                                                             \
        call.grad = &grad;                                                                         \
        block(&call, width);                                                                       \
    }
KERNEL(sdpa_keys_64, key_block, know_f32, 64)
KERNEL(sdpa_keys_wide, key_block, know_f32, MOST_WIDTH)
KERNEL(sdpa_keys_any, key_block, know_nothing, MOST_WIDTH)
KERNEL(sdpa_queries_64, query_block, know_f32, 64)
KERNEL(sdpa_queries_wide, query_block, know_f32, MOST_WIDTH)
KERNEL(sdpa_queries_any, query_block, know_nothing, MOST_WIDTH)
#undef KERNEL

static void launch(const Sizes *z, const Inputs *in, const Gradient *grad, void *stream)
{
    const int key_blocks = z->b * z->g * tiles_of(z->t, TILE);
    const int query_blocks = z->b * z->h * tiles_of(z->s, TILE);
    if (z->rows.type != MW_F32 || !z->rows.is_aligned) {
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

static void launch_delta(const Sizes *z, const void *out, const Gradient *grad, void *stream)
{
    const int64_t rows = (int64_t)z->b * z->s * z->h, blocks = (rows + WARPS - 1) / WARPS;
    MW_LAUNCH(sdpa_delta, blocks, THREADS, stream,
              (out, grad->dout, grad->delta, rows, z->d, z->rows.type));
}

/* Without dq, dk and dv; `scratch` is delta. */
static Gradient gradient_of(void *const *operands, void *scratch)
{
    const Result none = {NULL, 0};
    Gradient grad;
    grad.lse = (const float *)operands[4];
    grad.delta = (float *)scratch;
    grad.dout = operands[5];
    grad.dq = grad.dk = grad.dv = none;
    return grad;
}

static Result result_in(void *operand, const MwKernelArg *args, int row, int offset)
{
    Result result;
    result.at = (void *)element_at(operand, args[offset].i, (MwType)args[MW_SDPA_TYPE].i);
    result.row = args[row].i;
    return result;
}

/* `results` are dq, dk, dv and the scratch. */
static void run(void *const *operands, const void *mask, void *const *results,
                const MwKernelArg *args, void *stream)
{
    const Inputs in = inputs_of(operands, args);
    Sizes z = sizes_of(args, &in, mask);
    Gradient grad = gradient_of(operands, results[3]);
    grad.dq = result_in(results[0], args, MW_SDPA_DQ_ROW, MW_SDPA_DQ_OFFSET);
    grad.dk = result_in(results[1], args, MW_SDPA_DK_ROW, MW_SDPA_DK_OFFSET);
    grad.dv = result_in(results[2], args, MW_SDPA_DV_ROW, MW_SDPA_DV_OFFSET);
    want_aligned(&z, operands[3], 0);
    want_aligned(&z, grad.dout, 0);
    want_aligned(&z, grad.dq.at, grad.dq.row);
    want_aligned(&z, grad.dk.at, grad.dk.row);
    want_aligned(&z, grad.dv.at, grad.dv.row);
    if (mw_cuda_sdpa_grad_bf16(&z, &in, operands[3], &grad, stream))
        return;
    launch_delta(&z, operands[3], &grad, stream);
    launch(&z, &in, &grad, stream);
}

MW_C_BEGIN

void mw_cuda_sdpa_grad(void *const *operands, const MwKernelArg *args, void *stream)
{
    run(operands, NULL, operands + 6, args, stream);
}

void mw_cuda_sdpa_lse_by_head(const float *lse, float *to, const MwKernelArg *args, void *stream)
{
    const int s = (int)args[MW_SDPA_S].i, h = (int)args[MW_SDPA_H].i;
    const int64_t count = args[MW_SDPA_B].i * s * h;
    MW_LAUNCH(sdpa_lse_by_head, (count + THREADS - 1) / THREADS, THREADS, stream,
              (lse, to, count, s, h));
}

void mw_cuda_sdpa_masked_grad(void *const *operands, const MwKernelArg *args, void *stream)
{
    run(operands, operands[6], operands + 7, args, stream);
}

void mw_cuda_sdpa_mask_grad(void *const *operands, const MwKernelArg *args, void *stream)
{
    const Inputs in = inputs_of(operands, args);
    Sizes z = sizes_of(args, &in, operands[6]);
    const Gradient grad = gradient_of(operands, operands[8]);
    const MaskTiles tiles = mask_tiles(&z);
    launch_delta(&z, operands[3], &grad, stream);
    MW_LAUNCH_SHARED(sdpa_mask, (int64_t)tiles.b * tiles.h * tiles.s * tiles.t, THREADS,
                     SHARED_FLOATS * 4, stream, (z, in, grad, operands[7]));
}

MW_C_END
