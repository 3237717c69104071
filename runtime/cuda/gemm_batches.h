/* SPDX-License-Identifier: MIT */
/* The batches of a matrix product: those of one call of cuBLASLt, and the loop around it. */
#ifndef MW_RUNTIME_CUDA_GEMM_BATCHES_H
#define MW_RUNTIME_CUDA_GEMM_BATCHES_H

#include "runtime/plan/routine.h"

/* Batches of one call. Some kernels have the batches as a dimension of their grid, which is at most
 * 65535; with a power of two the batches of the next call are aligned like the first. */
enum { MW_GEMM_MOST_BATCHES = 1 << 15 };

/* A sequence of products; `step` is the distance of two of them in a, b and c, in elements. */
typedef struct {
    int64_t count, step[3];
} MwGemmBatch;

/* Splits the batches into those of one call and those of the loop around it: all in one call if
 * their steps are uniform and one call may have so many, otherwise the larger of the two batch
 * dimensions. `ints` are the arguments of the product. */
void mw_gemm_split_batches(const int64_t *ints, MwGemmBatch *inner, MwGemmBatch *outer);
/* The arguments for batches [begin, end) of batch dimension d. */
void mw_gemm_take_batches(const MwKernelArg *args, int d, int64_t begin, int64_t end,
                          MwKernelArg part[MW_GEMM_ARGS]);

#endif
