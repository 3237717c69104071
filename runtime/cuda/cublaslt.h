/* SPDX-License-Identifier: MIT */
/* cuBLASLt, loaded when a process first uses a GPU. A program that is linked with it takes 0.12 s
 * of CPU to start, without it 0.01 s (CUDA 13, `perf stat` of both): its constructors would delay
 * every rank of every run, also without a GPU. */
#ifndef MW_RUNTIME_CUDA_CUBLASLT_H
#define MW_RUNTIME_CUDA_CUBLASLT_H

#include "runtime/exec/fault.h"

#include <cublasLt.h>

#define MW_CUBLASLT_FUNCTIONS(X)                                                                   \
    X(cublasLtCreate)                                                                              \
    X(cublasLtDestroy)                                                                             \
    X(cublasLtGetStatusName)                                                                       \
    X(cublasLtGetVersion)                                                                          \
    X(cublasLtMatmul)                                                                              \
    X(cublasLtMatmulAlgoGetHeuristic)                                                              \
    X(cublasLtMatmulDescCreate)                                                                    \
    X(cublasLtMatmulDescDestroy)                                                                   \
    X(cublasLtMatmulDescSetAttribute)                                                              \
    X(cublasLtMatmulPreferenceCreate)                                                              \
    X(cublasLtMatmulPreferenceDestroy)                                                             \
    X(cublasLtMatmulPreferenceSetAttribute)                                                        \
    X(cublasLtMatrixLayoutCreate)                                                                  \
    X(cublasLtMatrixLayoutDestroy)                                                                 \
    X(cublasLtMatrixLayoutSetAttribute)

#define MW_CUBLASLT_POINTER(name) __typeof__(&name) name;
typedef struct {
    MW_CUBLASLT_FUNCTIONS(MW_CUBLASLT_POINTER)
} MwCublasLt;

/* Valid after mw_cublaslt_load. */
extern MwCublasLt mw_cublaslt;

/* Loads the library, unless this process has. Returns false after a fault if it cannot be loaded or
 * lacks one of the functions. */
bool mw_cublaslt_load(MwFault *fault);

#endif
