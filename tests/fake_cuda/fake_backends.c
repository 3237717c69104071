/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans for CPUs, run on GPUs of the fake. */
#include "runtime/cuda/nccl_transport.h"
#include "tests/unit/tested_device.h"
#include "tools/backends.h"

static MwDevice *fake_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                                 int threads, MwFault *fault)
{
    (void)threads;
    return tested_device_new(arena, plan, kernels, fault);
}

static const MwBackend fake_backend = {.id = MW_BACKEND_cpu,
                                       .device_new = fake_device_new,
                                       .transport = "nccl",
                                       .transport_is_possible = mw_nccl_is_possible,
                                       .transport_new = mw_transport_nccl_new};

const MwBackend *const mw_backends[] = {&fake_backend, NULL};
