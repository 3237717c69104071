/* SPDX-License-Identifier: MIT */
/* The windows of a convolution or of pooling as kernels see them: the arguments of
 * runtime/plan/routines.def. */
#ifndef MW_RUNTIME_CUDA_WINDOWS_H
#define MW_RUNTIME_CUDA_WINDOWS_H

#include "base/tensor.h"
#include "runtime/cuda/launch.h"
#include "runtime/plan/routine.h"

enum { DIMS = MW_WINDOW_DIMS };

typedef struct {
    int in[DIMS], out[DIMS], size[DIMS], stride[DIMS], dilation[DIMS], before[DIMS];
    int64_t batch;
    int channels;
    int type; /* of x and y */
} Windows;

static inline Windows windows_of(const MwKernelArg *args)
{
    Windows w;
    for (int d = 0; d < DIMS; d++) {
        w.in[d] = (int)args[MW_WINDOW_IN + d].i;
        w.out[d] = (int)args[MW_WINDOW_OUT + d].i;
        w.size[d] = (int)args[MW_WINDOW_SIZE + d].i;
        w.stride[d] = (int)args[MW_WINDOW_STRIDE + d].i;
        w.dilation[d] = (int)args[MW_WINDOW_DILATION + d].i;
        w.before[d] = (int)args[MW_WINDOW_BEFORE + d].i;
    }
    w.batch = args[MW_WINDOW_BATCH].i;
    w.channels = (int)args[MW_WINDOW_CHANNELS].i;
    w.type = (int)args[MW_WINDOW_TYPE].i;
    if (w.type == MW_TF32) /* of which the kernels make nothing */
        w.type = MW_F32;
    return w;
}

static inline int64_t volume(const int sizes[DIMS])
{
    return (int64_t)sizes[0] * sizes[1] * sizes[2];
}

/* A point of an image: which one, and where. Taps of a filter have image 0. */
typedef struct {
    int64_t image;
    int at[DIMS];
} Point;

/* Point `index` of images of `sizes`, counted image by image and row by row. */
static __device__ __forceinline__ Point point_at(int64_t index, const int sizes[DIMS])
{
    Point p;
    for (int d = DIMS - 1; d > 0; d--) {
        p.at[d] = (int)(index % sizes[d]);
        index /= sizes[d];
    }
    p.at[0] = (int)(index % sizes[0]);
    p.image = index / sizes[0];
    return p;
}

/* The index of the point of x under tap `tap` of window `window`; -1: padding. */
static __device__ __forceinline__ int64_t under(const Windows *w, const Point *window,
                                                const int tap[DIMS])
{
    int64_t index = window->image;
    for (int d = 0; d < DIMS; d++) {
        const int i = window->at[d] * w->stride[d] - w->before[d] + tap[d] * w->dilation[d];
        if (i < 0 || i >= w->in[d])
            return -1;
        index = index * w->in[d] + i;
    }
    return index;
}

/* The index of the window whose tap `tap` is over point `x`; -1: there is none. */
static __device__ __forceinline__ int64_t over(const Windows *w, const Point *x,
                                               const int tap[DIMS])
{
    int64_t index = x->image;
    for (int d = 0; d < DIMS; d++) {
        const int i = x->at[d] + w->before[d] - tap[d] * w->dilation[d];
        if (i < 0 || i % w->stride[d] != 0 || i / w->stride[d] >= w->out[d])
            return -1;
        index = index * w->out[d] + i / w->stride[d];
    }
    return index;
}

#endif
