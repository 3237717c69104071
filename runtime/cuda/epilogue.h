/* SPDX-License-Identifier: MIT */
/* The epilogues of matrix products (routines.def) as kernels, for calls whose epilogue cuBLASLt
 * does not support. */
#ifndef MW_RUNTIME_CUDA_EPILOGUE_H
#define MW_RUNTIME_CUDA_EPILOGUE_H

#include "runtime/plan/routine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Completes a call of a product routine whose product has been computed, in c or, if the routine
 * has an aux operand that GELU is taken of, in aux. Queued on `stream` (a cudaStream_t);
 * cudaGetLastError() reports a launch that CUDA refuses. */
void mw_cuda_epilogue(MwRoutine routine, void *const *operands, const MwKernelArg *args,
                      void *stream);

#ifdef __cplusplus
}
#endif

#endif
