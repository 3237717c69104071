/* SPDX-License-Identifier: MIT */
/* Convolutions and their gradients on a GPU: by cuDNN (cudnn_conv.h), which has algorithms on
 * tensor cores, or by the kernels of conv.cu where the library is not there or has no algorithm for
 * a shape. */
#ifndef MW_RUNTIME_CUDA_CONV_H
#define MW_RUNTIME_CUDA_CONV_H

#include "runtime/exec/device.h"
#include "runtime/plan/routine.h"

#include <cuda_runtime_api.h>

typedef struct MwCudaConv MwCudaConv;

/* Prepares the convolutions of `plan`, which are queued on `stream` of the current GPU: chooses
 * algorithms, and allocates what they work in and copies of filters, at most
 * 256 MiB and the largest filter. Returns NULL after a fault. */
MwCudaConv *mw_cuda_conv_new(MwArena *arena, const MwPlan *plan, cudaStream_t stream,
                             MwFault *fault);
/* Why some of the convolutions are done by kernels of ours; NULL: none is. */
const char *mw_cuda_conv_warning(const MwCudaConv *conv);
/* `routine` is conv, conv_transpose or conv_filter_grad, with operands and arguments as in
 * runtime/plan/routines.def. */
bool mw_cuda_conv_run(MwCudaConv *conv, MwRoutine routine, void *const *operands,
                      const MwKernelArg *args, MwFault *fault);
void mw_cuda_conv_free(MwCudaConv **conv);

#endif
