/* SPDX-License-Identifier: MIT */
/* One convolution, or one of its gradients, as an execution plan of cuDNN.
 *
 * Its operands are those of runtime/plan/routines.def, but the filter: cuDNN's fast algorithms take
 * images as they are here, with channels last, and filters as [features, size.., channels], the
 * transpose of what stands in memory here as a matrix [size.. x channels, features]. So the caller
 * gives a transposed copy, of the type of the images. A gradient in f32 of images in 16 bits is
 * rounded to these thereby, as by PyTorch's autocast: cuDNN 9.28 has no fast algorithm for an H100
 * that gives it in f32. */
#ifndef MW_RUNTIME_CUDA_CUDNN_CONV_H
#define MW_RUNTIME_CUDA_CUDNN_CONV_H

#include "runtime/cuda/cudnn_plan.h"
#include "runtime/plan/routine.h"

/* Makes a plan for routine conv, conv_transpose or conv_filter_grad, whose operands are aligned to
 * `alignment` bytes, of the first algorithm in cuDNN's order that has at most `most_bytes` of
 * workspace. Returns false, with the reason in the fault and nothing to free, if there is none. */
bool mw_cudnn_conv_make(MwCudnnPlan *plan, const MwCudnnTarget *target, MwRoutine routine,
                        const MwKernelArg *args, int64_t alignment, int64_t most_bytes,
                        MwFault *reason);
/* Queues it on the stream of the handle: images x and y, and the copy of the filter. */
bool mw_cudnn_conv_run(const MwCudnnPlan *plan, cudnnHandle_t handle, void *x, void *filter,
                       void *y, void *workspace, MwFault *fault);

#endif
