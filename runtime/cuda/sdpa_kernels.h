/* SPDX-License-Identifier: MIT */
/* The kernels of sdpa.cu and sdpa_grad.cu that attention.c chooses. They are queued on `stream` (a
 * cudaStream_t); cudaGetLastError() reports a launch that CUDA refuses. */
#ifndef MW_RUNTIME_CUDA_SDPA_KERNELS_H
#define MW_RUNTIME_CUDA_SDPA_KERNELS_H

#include "runtime/plan/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Routines sdpa and sdpa_grad, with operands and arguments as in runtime/plan/routines.def. */
void mw_cuda_sdpa(void *const *operands, const MwKernelArg *args, void *stream);
void mw_cuda_sdpa_grad(void *const *operands, const MwKernelArg *args, void *stream);

/* to[b, h, s] has the values of lse[b, s, h]. */
void mw_cuda_sdpa_lse_by_head(const float *lse, float *to, const MwKernelArg *args, void *stream);

#ifdef __cplusplus
}
#endif

#endif
