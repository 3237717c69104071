/* SPDX-License-Identifier: MIT */
/* What routines make of a product besides it (routines.def), by kernels of our own: for calls that
 * cuBLASLt does not take whole. */
#ifndef MW_RUNTIME_CUDA_EPILOGUE_H
#define MW_RUNTIME_CUDA_EPILOGUE_H

#include "runtime/plan/routine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `routine` is one of products, with operands and arguments as there. Its product lies already where
 * mw_gemm_extras says. Queued on `stream` (a cudaStream_t); a launch that CUDA refuses is found by
 * cudaGetLastError(). */
void mw_cuda_epilogue(MwRoutine routine, void *const *operands, const MwKernelArg *args,
                      void *stream);

#ifdef __cplusplus
}
#endif

#endif
