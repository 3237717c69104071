/* SPDX-License-Identifier: MIT */
/* The routines of runtime/plan/routines.def that are hand-written kernels on a GPU, with operands
 * and arguments as there. They are queued on `stream` (a cudaStream_t); cudaGetLastError() reports
 * a launch that CUDA refuses. */
#ifndef MW_RUNTIME_CUDA_ROUTINES_H
#define MW_RUNTIME_CUDA_ROUTINES_H

#include "runtime/plan/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void MwCudaRoutine(void *const *operands, const MwKernelArg *args, void *stream);

#define KERNEL(name) MwCudaRoutine mw_cuda_##name;
#define DEVICE(name)
#define none
#define ROUTINE(id, name, accesses, ints, floats, type, extents, cpu, cuda) cuda
#include "runtime/plan/routines.def"
#undef KERNEL
#undef DEVICE
#undef none

#ifdef __cplusplus
}
#endif

#endif
