/* SPDX-License-Identifier: MIT */
/* What the parts of the CUDA backend share: the device, errors, and the queue of a CUDA device.
 *
 * A rank uses one GPU, which is CUDA's current device from mw_device_cuda_new on. */
#ifndef MW_RUNTIME_CUDA_DEVICE_H
#define MW_RUNTIME_CUDA_DEVICE_H

#include "runtime/exec/device.h"

#include <cuda_runtime_api.h>

/* The GPU of this process: that of its place among the ranks of the machine, where ranks share GPUs
 * if those are fewer. `kernels` as for the CPU; `threads` does not matter. Collective over all ranks
 * where MPI is started. NULL after a fault. */
MwDevice *mw_device_cuda_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault);

/* The streams that its queues are. */
cudaStream_t mw_device_cuda_stream(const MwDevice *device, MwQueue queue);

#endif
