/* SPDX-License-Identifier: MIT */
/* Matrix products on a GPU, by cuBLASLt. Those of f32 are f32 throughout, not TF32. The algorithm for a shape is the
 * first that cuBLASLt's heuristics name, asked for when a call first has that shape. What a routine
 * makes besides the product is an epilogue of cuBLASLt's where it takes one for the shape; else its
 * product is finished by kernels of our own (epilogue.h). */
#ifndef MW_RUNTIME_CUDA_GEMM_H
#define MW_RUNTIME_CUDA_GEMM_H

#include "runtime/exec/device.h"
#include "runtime/plan/routine.h"

#include <cuda_runtime_api.h>

typedef struct MwCudaGemm MwCudaGemm;

/* For the products of `plan`, queued on `stream` of the current GPU. Takes
 * MW_CUDA_GEMM_WORKSPACE bytes of it. NULL after a fault. */
MwCudaGemm *mw_cuda_gemm_new(MwArena *arena, const MwPlan *plan, cudaStream_t stream,
                             MwFault *fault);
/* A routine of products. */
bool mw_cuda_gemm_run(MwCudaGemm *gemm, MwRoutine routine, void *const *operands,
                      const MwKernelArg *args, MwFault *fault);
void mw_cuda_gemm_free(MwCudaGemm **gemm);

/* As NVIDIA recommends for cuBLAS on its GPUs of 2022 and later. */
enum { MW_CUDA_GEMM_WORKSPACE = 32 << 20 };

#endif
