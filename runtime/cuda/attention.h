/* SPDX-License-Identifier: MIT */
/* Attention without a mask, and its gradient, on a GPU: by cuDNN (cudnn_sdpa.h) where it is found
 * and takes the call, else by our own kernels (sdpa_kernels.h). */
#ifndef MW_RUNTIME_CUDA_ATTENTION_H
#define MW_RUNTIME_CUDA_ATTENTION_H

#include "runtime/exec/device.h"
#include "runtime/plan/routine.h"

#include <cuda_runtime_api.h>

typedef struct MwCudaAttention MwCudaAttention;

/* Prepares the calls of `plan`, which are queued on `stream` of the current GPU: makes plans of
 * cuDNN, and allocates what they work in, at most 512 MiB and a copy of the largest log-sum-exp.
 * Calls whose sizes differ from device to device, or that the plan does not have, are done by our
 * own kernels. Returns NULL after a fault. */
MwCudaAttention *mw_cuda_attention_new(MwArena *arena, const MwPlan *plan, cudaStream_t stream,
                                       MwFault *fault);
/* `routine` is sdpa or sdpa_grad, with operands and arguments as in runtime/plan/routines.def. */
bool mw_cuda_attention_run(const MwCudaAttention *attention, MwRoutine routine,
                           void *const *operands, const MwKernelArg *args, MwFault *fault);
void mw_cuda_attention_free(MwCudaAttention **attention);

#endif
