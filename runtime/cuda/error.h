/* SPDX-License-Identifier: MIT */
/* Errors of the CUDA runtime as faults. */
#ifndef MW_RUNTIME_CUDA_ERROR_H
#define MW_RUNTIME_CUDA_ERROR_H

#include "runtime/exec/fault.h"

#include <cuda_runtime_api.h>

/* Returns false, after a fault that names the GPU, the call and the cause, if `status` is an
 * error. */
bool mw_cuda_check(cudaError_t status, const char *call, MwFault *fault);
/* Calls NAME(...) and checks its status. */
#define MW_CUDA_CALL(fault, name, ...) mw_cuda_check(name(__VA_ARGS__), #name, (fault))

/* Sets `*count` to the number of GPUs that this process can use. Returns false after a fault, also
 * if there is no such GPU. */
bool mw_cuda_count(int *count, MwFault *fault);

/* Sets `*capability` to the compute capability of the GPU, 80 for 8.0. Returns false after a fault,
 * also if kernels need a later one. */
bool mw_cuda_capability(int gpu, int *capability, MwFault *fault);

#endif
