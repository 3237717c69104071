/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CUDA device; launches, which wait on the fake for what is queued before, let its transport go on. */
#define mw_device_cuda_new device_cuda_new
#include "runtime/device_cuda.c"
#undef mw_device_cuda_new

#include "tests/fake_cuda/fake.h"

static bool idle(void *context)
{
    const MwDevice *device = context;
    MwFault ignored; /* whoever waits next finds it again */
    return !device->idle || device->idle(device->idle_context, &ignored);
}

MwDevice *mw_device_cuda_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault);

MwDevice *mw_device_cuda_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             int threads, MwFault *fault)
{
    MwDevice *device = device_cuda_new(arena, plan, kernels, threads, fault);
    fake_while_draining(device ? idle : NULL, device);
    return device;
}
