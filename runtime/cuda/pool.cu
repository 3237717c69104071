/* SPDX-License-Identifier: MIT */
/* Pooling on a GPU: routines max_pool, sum_pool, their gradients and max_pool_pick of
 * runtime/plan/routines.def. A
 * thread does one element of the result after another; neighbouring threads have neighbouring
 * channels. A gradient is gathered from the windows over a point, in order, so that every sum has a
 * fixed order. */
#include "runtime/cuda/element.h"
#include "runtime/cuda/routines.h"
#include "runtime/cuda/windows.h"

#include <math.h>

enum { THREADS = 256, MOST_BLOCKS = 4096 };

static __device__ __forceinline__ float pooled(const Windows *w, const void *x, const Point *window,
                                               int channel, int is_max)
{
    float so_far = is_max ? -INFINITY : 0;
    const int taps = w->size[0] * w->size[1] * w->size[2];
    for (int i = 0; i < taps; i++) {
        const Point tap = point_at(i, w->size);
        const int64_t at = under(w, window, tap.at);
        if (at < 0)
            continue;
        const float value = mw_element_load(x, at * w->channels + channel, w->type);
        if (!is_max)
            so_far += value;
        else if (!(value <= so_far) && so_far == so_far) /* NaN stays */
            so_far = value;
    }
    return so_far;
}

/* The point whose element of channel `channel` is the first of the greatest of window `window`; of
 * a NaN, the first. */
static __device__ __forceinline__ int64_t greatest(const Windows *w, const void *x,
                                                   const Point *window, int channel)
{
    const int taps = w->size[0] * w->size[1] * w->size[2];
    int64_t best = -1;
    float most = 0;
    for (int i = 0; i < taps; i++) {
        const Point tap = point_at(i, w->size);
        const int64_t at = under(w, window, tap.at);
        if (at < 0)
            continue;
        const float value = mw_element_load(x, at * w->channels + channel, w->type);
        if (best < 0 || (!(value <= most) && most == most)) {
            best = at;
            most = value;
        }
    }
    return best;
}

static __global__ void __launch_bounds__(THREADS)
    pool(Windows w, const void *__restrict__ x, int is_max, int64_t count, void *__restrict__ y)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const Point window = point_at(i / w.channels, w.out);
        mw_element_store(y, i, w.type, pooled(&w, x, &window, (int)(i % w.channels), is_max));
    }
}

/* x is NULL for sums. */
static __global__ void __launch_bounds__(THREADS)
    pool_grad(Windows w, const void *__restrict__ x, const void *__restrict__ d, int64_t count,
              void *__restrict__ dx)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    const int taps = w.size[0] * w.size[1] * w.size[2];
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const int64_t point = i / w.channels;
        const int channel = (int)(i % w.channels);
        const Point at = point_at(point, w.in);
        float sum = 0;
        for (int k = taps - 1; k >= 0; k--) { /* windows from the first one on */
            const Point tap = point_at(k, w.size);
            const int64_t y = over(&w, &at, tap.at);
            if (y < 0)
                continue;
            const Point window = point_at(y, w.out);
            if (!x || greatest(&w, x, &window, channel) == point)
                sum += mw_element_load(d, y * w.channels + channel, w.type);
        }
        mw_element_store(dx, i, w.type, sum);
    }
}

static __global__ void __launch_bounds__(THREADS)
    pool_pick(Windows w, const void *__restrict__ x, const void *__restrict__ v, int64_t count,
              void *__restrict__ y)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const Point window = point_at(i / w.channels, w.out);
        const int channel = (int)(i % w.channels);
        const int64_t at = greatest(&w, x, &window, channel);
        mw_element_store(y, i, w.type, mw_element_load(v, at * w.channels + channel, w.type));
    }
}

static int blocks_for(int64_t count)
{
    const int64_t blocks = (count + THREADS - 1) / THREADS;
    return (int)mw_min(blocks, MOST_BLOCKS);
}

static void forward(const void *x, void *y, const MwKernelArg *args, int is_max, void *stream)
{
    const Windows w = windows_of(args);
    const int64_t count = w.batch * volume(w.out) * w.channels;
    const int blocks = blocks_for(count);
    MW_LAUNCH(pool, blocks, THREADS, stream, (w, x, is_max, count, y));
}

static void backward(const void *x, const void *d, void *dx, const MwKernelArg *args, void *stream)
{
    const Windows w = windows_of(args);
    const int64_t count = w.batch * volume(w.in) * w.channels;
    const int blocks = blocks_for(count);
    MW_LAUNCH(pool_grad, blocks, THREADS, stream, (w, x, d, count, dx));
}

MW_C_BEGIN

void mw_cuda_max_pool(void *const *operands, const MwKernelArg *args, void *stream)
{
    forward(operands[0], operands[1], args, 1, stream);
}

void mw_cuda_sum_pool(void *const *operands, const MwKernelArg *args, void *stream)
{
    forward(operands[0], operands[1], args, 0, stream);
}

void mw_cuda_max_pool_grad(void *const *operands, const MwKernelArg *args, void *stream)
{
    backward(operands[0], operands[1], operands[2], args, stream);
}

void mw_cuda_max_pool_pick(void *const *operands, const MwKernelArg *args, void *stream)
{
    const Windows w = windows_of(args);
    const int64_t count = w.batch * volume(w.out) * w.channels;
    const int blocks = blocks_for(count);
    MW_LAUNCH(pool_pick, blocks, THREADS, stream,
              (w, operands[0], operands[1], count, operands[2]));
}

void mw_cuda_sum_pool_grad(void *const *operands, const MwKernelArg *args, void *stream)
{
    backward(NULL, operands[0], operands[1], args, stream);
}

MW_C_END
