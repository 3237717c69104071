/* SPDX-License-Identifier: MIT */
/* Matrix products on a GPU, by cuBLASLt. Products of f32 are computed in f32, unless their type is
 * tf32. The algorithm of a shape is that which the choices of the device say, or the first of those
 * that the heuristics of cuBLASLt return which a call does not refuse; they are asked at the first
 * call with that shape. An epilogue is done by cuBLASLt if it supports it for the shape, otherwise
 * by kernels (epilogue.h). */
#ifndef MW_RUNTIME_CUDA_GEMM_H
#define MW_RUNTIME_CUDA_GEMM_H

#include "runtime/exec/device.h"
#include "runtime/plan/routine.h"

#include <cuda_runtime_api.h>

typedef struct MwCudaGemm MwCudaGemm;

/* Prepares the matrix products of `plan`, which are queued on `stream` of the current GPU.
 * `choices` are made by mw_cuda_gemm_tune. Allocates MW_CUDA_GEMM_WORKSPACE
 * bytes on the GPU. Returns NULL after a fault. */
MwCudaGemm *mw_cuda_gemm_new(MwArena *arena, const MwPlan *plan, cudaStream_t stream,
                             MwChoices *choices, MwFault *fault);
/* Adds the fastest algorithm of the product to the choices, unless it is there. The contents of c
 * are lost, and those that the epilogue writes. */
bool mw_cuda_gemm_tune(MwCudaGemm *gemm, MwRoutine routine, void *const *operands,
                       const MwKernelArg *args, MwFault *fault);
/* `routine` is a product routine, with operands and arguments as in routines.def. */
bool mw_cuda_gemm_run(MwCudaGemm *gemm, MwRoutine routine, void *const *operands,
                      const MwKernelArg *args, MwFault *fault);
void mw_cuda_gemm_free(MwCudaGemm **gemm);

/* Bytes of workspace: the size that the documentation of cuBLAS recommends for compute capability
 * 9.0. */
enum { MW_CUDA_GEMM_WORKSPACE = 32 << 20 };

#endif
