/* SPDX-License-Identifier: MIT */
/* The routines of runtime/plan/routines.def that are kernels of our own on a GPU. Operands and arguments
 * as there, `stream` a cudaStream_t; they are queued on it, and a launch that CUDA refuses is found by
 * cudaGetLastError(). */
#ifndef MW_RUNTIME_CUDA_ROUTINES_H
#define MW_RUNTIME_CUDA_ROUTINES_H

#include "runtime/plan/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void MwCudaRoutine(void *const *operands, const MwKernelArg *args, void *stream);

MwCudaRoutine mw_cuda_sdpa;
MwCudaRoutine mw_cuda_sdpa_grad;

#ifdef __cplusplus
}
#endif

#endif
