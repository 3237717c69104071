/* SPDX-License-Identifier: MIT */
/* What the parts of the CUDA backend share: errors, and the queue of a CUDA device.
 *
 * A rank uses one GPU, which is CUDA's current device from mw_device_cuda_new on. */
#ifndef MW_RUNTIME_CUDA_H
#define MW_RUNTIME_CUDA_H

#include "runtime/device.h"

#include <cuda_runtime_api.h>

/* On which the device runs everything in order: kernels, routines, copies, collectives. */
cudaStream_t mw_device_cuda_stream(const MwDevice *device);

/* False, after a fault that names GPU, call and cause, if `status` is an error. */
bool mw_cuda_check(cudaError_t status, const char *call, MwFault *fault);

#endif
