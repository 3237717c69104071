/* SPDX-License-Identifier: MIT */
/* The greatest elements of rows on a GPU, sums along rows, and gradients scattered along rows:
 * routines top_k, cumsum and take_along_grad of runtime/plan/routines.def.
 *
 * A warp takes a row and finds one of its k greatest elements after another: of those that come
 * after the last one found, the first. That is k walks over the row, after the first of which it
 * lies in the cache: right for the experts of a router, of which few are chosen; a sort of n
 * elements takes n^2 / 32 steps of the warp. For sums a warp walks over a row once, 32 elements at
 * a time, and carries the sum of those before. A gradient is gathered, with a thread for each
 * element of a row, from the k ids of the row in order, so that every sum has a fixed order: k n
 * steps for n elements. */
#include "base/tensor.h"
#include "runtime/cuda/element.h"
#include "runtime/cuda/routines.h"
#include "runtime/plan/routine.h"

enum { THREADS = 256, WARP = 32, MOST_BLOCKS = 4096 };

/* Element `id` as a number: the higher part has the order of floats, in which 0 and -0 are equal
 * and NaN is the greatest; of equal elements the first is the greatest. Never 0 and never all
 * ones. */
static __device__ __forceinline__ uint64_t rank_of(float x, int64_t id, uint32_t mirror)
{
    const uint32_t bits = __float_as_uint(x + 0.0f); /* of -0 it makes 0 */
    const uint32_t rank = x != x ? 0xffffffffu : bits >> 31 ? ~bits : bits | 0x80000000u;
    return (uint64_t)(rank ^ mirror) << 32 | (0xfffffffeu - (uint32_t)id);
}

static __global__ void __launch_bounds__(THREADS)
    top_k(const void *__restrict__ x, int type, int64_t rows, int64_t columns, int64_t count,
          uint32_t mirror, void *__restrict__ values, int32_t *__restrict__ ids)
{
    const int64_t lane = threadIdx.x % WARP;
    const int64_t step = (int64_t)gridDim.x * (THREADS / WARP);
    for (int64_t r = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; r < rows;
         r += step) {
        uint64_t last = ~(uint64_t)0;
        for (int64_t k = 0; k < count; k++) {
            uint64_t best = 0;
            MW_UNROLL_BY(4)
            for (int64_t i = lane; i < columns; i += WARP) {
                const uint64_t rank = rank_of(mw_element_load(x, r * columns + i, type), i, mirror);
                best = rank < last && rank > best ? rank : best;
            }
            for (int lanes = WARP / 2; lanes; lanes /= 2) {
                const uint64_t other = __shfl_xor_sync(0xffffffff, best, lanes);
                best = other > best ? other : best;
            }
            last = best;
            if (lane == k % WARP) {
                const int32_t id = (int32_t)(0xfffffffeu - (uint32_t)best);
                ids[r * count + k] = id;
                mw_element_store(values, r * count + k, type,
                                 mw_element_load(x, r * columns + id, type));
            }
        }
    }
}

/* Element `at` of integers of the type. */
static __device__ __forceinline__ int64_t load_integer(const void *x, int64_t at, int type)
{
    return type == MW_I64 ? ((const int64_t *)x)[at] : ((const int32_t *)x)[at];
}

static __device__ __forceinline__ void store_integer(void *y, int64_t at, int type, int64_t sum)
{
    if (type == MW_I64)
        ((int64_t *)y)[at] = sum;
    else
        ((int32_t *)y)[at] = (int32_t)sum;
}

/* The lanes of a warp exchange sums of 1, 2, 4, ... of them with those of their neighbours. */
#define CUMSUM(name, wide, exchanged, load, store)                                                 \
    static __global__ void __launch_bounds__(THREADS)                                              \
        name(const void *__restrict__ x, int type, int64_t rows, int64_t columns, int inverse,     \
             void *__restrict__ y)                                                                 \
    {                                                                                              \
        const int64_t lane = threadIdx.x % WARP;                                                   \
        const int64_t step = (int64_t)gridDim.x * (THREADS / WARP);                                \
        for (int64_t r = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; r < rows;    \
             r += step) {                                                                          \
            wide before = 0;                                                                       \
            for (int64_t first = 0; first < columns; first += WARP) {                              \
                const int64_t i = first + lane;                                                    \
                const int64_t at = r * columns + (inverse ? columns - 1 - i : i);                  \
                exchanged all = 0;                                                                 \
                if (i < columns)                                                                   \
                    all = load(x, at, type);                                                       \
                wide sum = before + (wide)all;                                                     \
                for (int lanes = 1; lanes < WARP; lanes *= 2) {                                    \
                    const exchanged other = __shfl_xor_sync(0xffffffff, all, lanes);               \
                    sum += lane & lanes ? (wide)other : 0;                                         \
                    all += other;                                                                  \
                }                                                                                  \
                if (i < columns)                                                                   \
                    store(y, at, type, sum);                                                       \
                before += (wide)all;                                                               \
            }                                                                                      \
        }                                                                                          \
    }

#define STORE_FLOAT(y, at, type, sum) mw_element_store(y, at, type, (float)(sum))
CUMSUM(cumsum_floats, double, double, mw_element_load, STORE_FLOAT)
CUMSUM(cumsum_integers, int64_t, long long, load_integer, store_integer)

static __global__ void __launch_bounds__(THREADS)
    take_along_grad(const int32_t *__restrict__ ids, const void *__restrict__ d, int type,
                    int64_t elements, int64_t columns, int64_t count, void *__restrict__ dx)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step) {
        const int64_t first = i / columns * count, column = i % columns;
        float sum = 0;
        for (int64_t k = first; k < first + count; k++)
            if (ids[k] == column)
                sum += mw_element_load(d, k, type);
        mw_element_store(dx, i, type, sum);
    }
}

static int blocks_for(int64_t count, int64_t of_block)
{
    const int64_t blocks = (count + of_block - 1) / of_block;
    return (int)mw_min(blocks, MOST_BLOCKS);
}

MW_C_BEGIN

void mw_cuda_top_k(void *const *operands, const MwKernelArg *args, void *stream)
{
    const int64_t rows = args[MW_ALONG_ROWS].i;
    const int blocks = blocks_for(rows, THREADS / WARP);
    MW_LAUNCH(top_k, blocks, THREADS, stream,
              (operands[0], (int)args[MW_ALONG_TYPE].i, rows, args[MW_ALONG_COLUMNS].i,
               args[MW_ALONG_COUNT].i, args[MW_TOP_K_ASCENDING].i ? 0xffffffffu : 0u, operands[1],
               (int32_t *)operands[2]));
}

void mw_cuda_cumsum(void *const *operands, const MwKernelArg *args, void *stream)
{
    const int64_t rows = args[MW_ALONG_ROWS].i;
    const int blocks = blocks_for(rows, THREADS / WARP);
    const int type = (int)args[MW_ALONG_TYPE].i;
    if (type == MW_I32 || type == MW_I64)
        MW_LAUNCH(cumsum_integers, blocks, THREADS, stream,
                  (operands[0], type, rows, args[MW_ALONG_COLUMNS].i,
                   args[MW_CUMSUM_INVERSE].i != 0, operands[1]));
    else
        MW_LAUNCH(cumsum_floats, blocks, THREADS, stream,
                  (operands[0], type, rows, args[MW_ALONG_COLUMNS].i,
                   args[MW_CUMSUM_INVERSE].i != 0, operands[1]));
}

void mw_cuda_take_along_grad(void *const *operands, const MwKernelArg *args, void *stream)
{
    const int64_t columns = args[MW_ALONG_COLUMNS].i;
    const int64_t elements = args[MW_ALONG_ROWS].i * columns;
    const int blocks = blocks_for(elements, THREADS);
    MW_LAUNCH(take_along_grad, blocks, THREADS, stream,
              ((const int32_t *)operands[0], operands[1], (int)args[MW_ALONG_TYPE].i, elements,
               columns, args[MW_ALONG_COUNT].i, operands[2]));
}

MW_C_END
