/* SPDX-License-Identifier: MIT */
/* Linear recurrences on a GPU: routine linear_scan of runtime/plan/routines.def.
 *
 * Two steps in a row are one: y -> b (a y + x) + z is a b on y, with b x + z for what is added. So
 * a block cuts the steps into segments, whose threads find first what their own segment makes of
 * what comes before it, then what comes before it from the segments in front, and then their steps
 * (Blelloch, "Prefix sums and their applications", 1990, section 1.4). Neighbouring threads take
 * neighbouring elements of a step. Operands are read twice. */
#include "base/tensor.h"
#include "runtime/cuda/element.h"
#include "runtime/cuda/routines.h"
#include "runtime/plan/routine.h"

enum { THREADS = 256, MOST_COLUMNS = 32, MOST_BLOCKS = 65535 };

/* The dimensions of a call, and how a block shares them: `columns` elements of a step, a power of
 * two, and THREADS / columns segments of `length` steps. */
typedef struct {
    int64_t outer, steps, inner, tiles, length;
    int columns, reverse, type;
} Scan;

static __global__ void __launch_bounds__(THREADS)
    linear_scan(const void *__restrict__ x, const void *__restrict__ decay, void *__restrict__ y,
                Scan z)
{
    __shared__ float factor[THREADS], sum[THREADS];
    const int column = threadIdx.x % z.columns, segment = threadIdx.x / z.columns;
    const int64_t begin = segment * z.length;
    const int64_t end = begin + z.length < z.steps ? begin + z.length : z.steps;
    for (int64_t tile = blockIdx.x; tile < z.outer * z.tiles; tile += gridDim.x) {
        const int64_t i = tile % z.tiles * z.columns + column;
        const int64_t stride = z.reverse ? -z.inner : z.inner;
        const int64_t first =
            tile / z.tiles * z.steps * z.inner + i + (z.reverse ? (z.steps - 1) * z.inner : 0);
        float a = 1, before = 0;
        for (int64_t s = begin; s < end && i < z.inner; s++) {
            const float d = s ? mw_element_load(decay, first + s * stride, z.type) : 0;
            before = mw_element_load(x, first + s * stride, z.type) + (s ? d * before : 0);
            a *= d;
        }
        factor[threadIdx.x] = a;
        sum[threadIdx.x] = before;
        __syncthreads();
        before = 0;
        for (int t = column; t < (int)threadIdx.x; t += z.columns)
            before =
                before != 0 ? factor[t] * before + sum[t] : sum[t]; /* a factor may be infinite */
        for (int64_t s = begin; s < end && i < z.inner; s++) {
            const float added = mw_element_load(x, first + s * stride, z.type);
            before =
                s ? mw_element_load(decay, first + s * stride, z.type) * before + added : added;
            mw_element_store(y, first + s * stride, z.type, before);
        }
        __syncthreads();
    }
}

MW_C_BEGIN

void mw_cuda_linear_scan(void *const *operands, const MwKernelArg *args, void *stream)
{
    Scan z = {args[MW_LINEAR_SCAN_OUTER].i,
              args[MW_LINEAR_SCAN_STEPS].i,
              args[MW_LINEAR_SCAN_INNER].i,
              0,
              0,
              1,
              args[MW_LINEAR_SCAN_REVERSE].i != 0,
              (int)args[MW_LINEAR_SCAN_TYPE].i};
    while (z.columns < z.inner && z.columns < MOST_COLUMNS)
        z.columns *= 2;
    const int segments = THREADS / z.columns;
    z.tiles = (z.inner + z.columns - 1) / z.columns;
    z.length = (z.steps + segments - 1) / segments;
    MW_LAUNCH(linear_scan, (int)mw_min(z.outer * z.tiles, MOST_BLOCKS), THREADS, stream,
              (operands[0], operands[1], operands[2], z));
}

MW_C_END
