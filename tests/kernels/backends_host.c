/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The C of the CPU, and CUDA C on the host (cuda_shim.h). */
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

/* Kernels for GPUs find the number of the step in memory. */
static const int64_t the_step = 1;

static bool is_the_step(MwDevice *device, int64_t step, MwFault *fault)
{
    (void)device, (void)fault;
    return step == the_step;
}

static MwDevice *shim_device_new(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                                 int threads, MwFault *fault)
{
    MwDevice *device = mw_device_cpu_new(arena, plan, kernels, threads, fault);
    if (!device)
        return NULL;
    MwDeviceTable *table = mw_arena_dup(arena, device->table, sizeof *device->table);
    table->set_step = is_the_step;
    device->table = table;
    device->step = &the_step;
    return device;
}

const GraphBackend graph_backends[] = {{"cpu", load_c, mw_device_cpu_new},
                                       {"cuda", load_cuda, shim_device_new}};
const int graph_backend_count = MW_COUNT(graph_backends);
