/* SPDX-License-Identifier: MIT */
#include "runtime/backend.h"
#include "runtime/compiler.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/error.h"
#include "runtime/cuda/nccl_transport.h"

#include <stdio.h>
#include <stdlib.h>

/* "arch=compute_90,code=sm_90" of the first GPU. */
static bool name_architecture(char name[64], MwFault *fault)
{
    int count = 0, capability = 0;
    if (!mw_cuda_count(&count, fault) || !mw_cuda_capability(0, &capability, fault))
        return false;
    snprintf(name, 64, "arch=compute_%d,code=sm_%d", capability, capability);
    return true;
}

static bool compile_cuda(const char *source, const char *library, MwFault *fault)
{
    char architecture[64];
    const char *compiler = mw_compiler_of(MW_BACKEND_cuda, MW_NVCC);
    const char *const words[] = {compiler,   MW_KERNEL_CUDA_FLAGS,
                                 "-gencode", architecture,
                                 "-shared",  "-Xcompiler",
                                 "-fPIC",    "-cudart",
                                 "shared",   "-o",
                                 library,    source,
                                 NULL};
    return name_architecture(architecture, fault) && mw_compiler_run("nvcc", words, fault);
}

const MwBackend mw_backend_cuda = {
    .id = MW_BACKEND_cuda,
    .compile = compile_cuda,
    .device_new = mw_device_cuda_new,
    .transport = "nccl",
    .transport_is_possible = mw_nccl_is_possible,
    .transport_new = mw_transport_nccl_new,
};
