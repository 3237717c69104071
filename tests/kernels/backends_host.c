/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The C of the CPU; and CUDA C on the host (cuda_shim.h), on a GPU of the fake. */
#include "runtime/cpu/device.h"
#include "runtime/cuda/device.h"
#include "runtime/kernels_compile.h"
#include "tests/kernels/backends.h"
#include "tests/kernels/cuda_kernels.h"

static const MwKernelEntry *load_c(MwArena *arena, const MwPlan *plan, MwTransport *transport,
                                   MwFault *fault)
{
    return mw_kernels_compile(arena, plan, &mw_backend_cpu, transport, fault);
}

static const MwKernelEntry *load_cuda(MwArena *arena, const MwPlan *plan, MwTransport *transport,
                                      MwFault *fault)
{
    (void)arena, (void)transport;
    return cuda_kernels_load(plan->kernel_source, fault);
}

const GraphBackend graph_backends[] = {{"cpu", load_c, mw_device_cpu_new},
                                       {"cuda", load_cuda, mw_device_cuda_new}};
const int graph_backend_count = MW_COUNT(graph_backends);
