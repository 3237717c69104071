/* SPDX-License-Identifier: MIT */
/* One convolution, or one of its gradients, as an execution plan of cuDNN.
 *
 * Its operands are those of runtime/plan/routines.def, but the filter: cuDNN's fast algorithms take
 * images as they are here, with channels last, and filters as [features, size.., channels], the
 * transpose of what stands in memory here as a matrix [size.. x channels, features]. So the caller
 * gives a transposed copy, of the type of the images. A gradient in f32 of images in 16 bits is
 * rounded to these thereby, as by PyTorch's autocast: cuDNN 9.28 has no fast algorithm for an H100
 * that gives it in f32.
 *
 * Sums are f32. Algorithms that give other bits from run to run, sum in less than f32, or compute
 * something else than sums of products (Winograd, FFT) are left out, and for f32 those on tensor
 * cores, which round the operands. */
#ifndef MW_RUNTIME_CUDA_CUDNN_CONV_H
#define MW_RUNTIME_CUDA_CUDNN_CONV_H

#include "base/tensor.h"
#include "runtime/cuda/cudnn.h"
#include "runtime/plan/routine.h"

/* What plans are made for: one of both. */
typedef struct {
    cudnnHandle_t handle;            /* a handle of this process's GPU */
    cudnnBackendDescriptor_t device; /* the properties of some GPU, which need not be here */
} MwCudnnTarget;

enum { MW_CUDNN_CONV_DESCRIPTORS = 8 };

typedef struct {
    cudnnBackendDescriptor_t plan;                            /* NULL: there is none */
    cudnnBackendDescriptor_t made[MW_CUDNN_CONV_DESCRIPTORS]; /* what it is made of */
    int made_count;
    int64_t workspace_bytes;
} MwCudnnConv;

/* Makes a plan for routine conv, conv_transpose or conv_filter_grad, whose operands are aligned to
 * `alignment` bytes, of the first algorithm in cuDNN's order that has at most `most_bytes` of
 * workspace. Returns false, with the reason in the fault and nothing to free, if there is none. */
bool mw_cudnn_conv_make(MwCudnnConv *conv, const MwCudnnTarget *target, MwRoutine routine,
                        const MwKernelArg *args, int64_t alignment, int64_t most_bytes,
                        MwFault *reason);
/* Queues it on the stream of the handle: images x and y, and the copy of the filter. */
bool mw_cudnn_conv_run(const MwCudnnConv *conv, cudnnHandle_t handle, void *x, void *filter,
                       void *y, void *workspace, MwFault *fault);
void mw_cudnn_conv_free(MwCudnnConv *conv);

#endif
