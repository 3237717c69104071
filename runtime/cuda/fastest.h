/* SPDX-License-Identifier: MIT */
/* Which of several ways to do one thing on a GPU takes the least time. */
#ifndef MW_RUNTIME_CUDA_FASTEST_H
#define MW_RUNTIME_CUDA_FASTEST_H

#include "runtime/exec/fault.h"

#include <cuda_runtime_api.h>

/* Queues the work of way i on the stream. `*refused`: it cannot be done so, and nothing is queued.
 * False after a fault. */
typedef bool MwCudaWay(void *context, int i, bool *refused, MwFault *fault);

typedef struct {
    int way;       /* -1: all are refused */
    float time_ms; /* of some runs; infinite if all are refused */
} MwCudaFastest;

/* Finds the way that takes the least time; of ways that take the same, it is the first. The host
 * waits. */
bool mw_cuda_fastest(cudaStream_t stream, int count, MwCudaWay *way, void *context,
                     MwCudaFastest *fastest, MwFault *fault);

#endif
