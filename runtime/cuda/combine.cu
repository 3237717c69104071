/* SPDX-License-Identifier: MIT */
/* A thread combines elements one after another, in order of member and in f32; floats of 16
 * bits are rounded once. */
#include "runtime/cuda/combine.h"

#include "runtime/cuda/element.h"

#include <math.h>

/* Blocks are enough to fill a GPU: 8 on each of 128 multiprocessors. A thread of a larger
 * collective does several elements. Chosen, not measured. */
enum { THREADS = 256, MOST_BLOCKS = 1024 };

static __device__ __forceinline__ float log_sum_exp(float a, float b)
{
    const float most = a > b ? a : b, least = a > b ? b : a;
    return isinf(most) && least == least ? most : most + log1pf(expf(least - most));
}

static __device__ __forceinline__ float add(MwCombine combine, float sum, float more)
{
    switch (combine) {
    case MW_COMBINE_SUM:
        return sum + more;
    case MW_COMBINE_MAX:
        return more > sum || more != more ? more : sum; /* NaN is passed on */
    case MW_COMBINE_LOGSUMEXP:
        return log_sum_exp(sum, more);
    case MW_COMBINE_COUNT:
        break;
    }
    return sum; /* there is no other */
}

static __global__ void combine_floats(int type, MwCombine combine, const void *__restrict__ from,
                                      int members, int64_t count, void *__restrict__ to)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float sum = mw_element_load(from, i, type);
        for (int m = 1; m < members; m++)
            sum = add(combine, sum, mw_element_load(from, m * count + i, type));
        mw_element_store(to, i, type, sum);
    }
}

MW_C_BEGIN
void mw_cuda_combine(MwType type, MwCombine combine, const void *from, int members, int64_t count,
                     void *to, void *stream)
{
    const int blocks = (int)mw_min(mw_ceil_div(count, THREADS), MOST_BLOCKS);
    if (count > 0)
        MW_LAUNCH(combine_floats, blocks, THREADS, stream,
                  ((int)type, combine, from, members, count, to));
}
MW_C_END
