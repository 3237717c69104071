/* SPDX-License-Identifier: MIT */
/* A GPU as a device. A rank uses one GPU, which is CUDA's current device from mw_device_cuda_new
 * on. */
#ifndef MW_RUNTIME_CUDA_DEVICE_H
#define MW_RUNTIME_CUDA_DEVICE_H

#include "runtime/exec/device.h"

#include <cuda_runtime_api.h>

/* The GPU of this process. The ranks of a machine take its GPUs in turn, and share them if there
 * are fewer GPUs than ranks. `kernels` is as for mw_device_cpu_new; `threads` is ignored.
 * Collective over all ranks if MPI is initialized. NULL after a fault. */
MwDevice *mw_device_cuda_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault);

/* The stream that serves a queue. */
cudaStream_t mw_device_cuda_stream(const MwDevice *device, MwQueue queue);

#endif
