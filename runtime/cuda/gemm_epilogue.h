/* SPDX-License-Identifier: MIT */
/* What of a product's routine cuBLASLt is asked for as an epilogue. */
#ifndef MW_RUNTIME_CUDA_GEMM_EPILOGUE_H
#define MW_RUNTIME_CUDA_GEMM_EPILOGUE_H

#include "runtime/cuda/cublaslt.h"
#include "runtime/plan/routine.h"

/* The epilogue; CUBLASLT_EPILOGUE_DEFAULT: there is nothing to do besides the product, or kernels
 * are to do it (epilogue.h). `ints` are the arguments of the product, `alignment` in bytes is that
 * of all operands and their steps. */
cublasLtEpilogue_t mw_cublaslt_epilogue(MwRoutine routine, const int64_t *ints, int64_t alignment);

#endif
