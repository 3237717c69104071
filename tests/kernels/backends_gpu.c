/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA C by nvcc, on a GPU. */
#include "runtime/cuda/device.h"
#include "runtime/kernels_compile.h"
#include "tests/kernels/backends.h"

static const MwKernelEntry *load(MwArena *arena, const MwPlan *plan, MwTransport *transport,
                                 MwFault *fault)
{
    return mw_kernels_compile(arena, plan, &mw_backend_cuda, transport, fault);
}

const GraphBackend graph_backends[] = {{"cuda", load, mw_device_cuda_new}};
const int graph_backend_count = MW_COUNT(graph_backends);
