/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/error.h"

#include "base/backend.h"

#include <stdio.h>
#include <string.h>

/* Appends to the fault how to compile for this GPU, or that it is too old. Returns false, for the
 * caller to return. */
static bool add_capability(int gpu, MwFault *fault)
{
    int major = 0, minor = 0;
    const size_t length = strlen(fault->text), room = sizeof fault->text - length;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu) != cudaSuccess)
        return false;
    if (10 * major + minor < MW_CUDA_LEAST_CAPABILITY)
        snprintf(fault->text + length, room,
                 " (this GPU is of compute capability %d.%d, and kernels need %d.%d or later)",
                 major, minor, MW_CUDA_LEAST_CAPABILITY / 10, MW_CUDA_LEAST_CAPABILITY % 10);
    else
        snprintf(
            fault->text + length, room,
            " (this GPU is of compute capability %d.%d: `meshwright compile --cuda-arch %d%d` and "
            "the build option gpu_arch compile for it)",
            major, minor, major, minor);
    return false;
}

bool mw_cuda_check(cudaError_t status, const char *call, MwFault *fault)
{
    int gpu = 0;
    if (status == cudaSuccess)
        return true;
    cudaGetDevice(&gpu);
    mw_fault_set(fault, "device %d: %s failed: %s", gpu, call, cudaGetErrorString(status));
    return status != cudaErrorNoKernelImageForDevice ? false : add_capability(gpu, fault);
}

bool mw_cuda_capability(int gpu, int *capability, MwFault *fault)
{
    int major = 0, minor = 0;
    if (!MW_CUDA_CALL(fault, cudaDeviceGetAttribute, &major, cudaDevAttrComputeCapabilityMajor,
                      gpu) ||
        !MW_CUDA_CALL(fault, cudaDeviceGetAttribute, &minor, cudaDevAttrComputeCapabilityMinor,
                      gpu))
        return false;
    *capability = 10 * major + minor;
    return *capability >= MW_CUDA_LEAST_CAPABILITY ||
           mw_fault_set(fault,
                        "device %d: this GPU is of compute capability %d.%d, and kernels need "
                        "%d.%d or later",
                        gpu, major, minor, MW_CUDA_LEAST_CAPABILITY / 10,
                        MW_CUDA_LEAST_CAPABILITY % 10);
}

/* The least driver for Linux of a major version of CUDA; 0: not known. Source: CUDA Toolkit release
 * notes, "CUDA Toolkit and minimum required driver version for minor version compatibility". */
static int least_driver(int major)
{
    return major == 11 ? 450 : major == 12 ? 525 : major == 13 ? 580 : 0;
}

/* Appends which driver there is, and which the program needs. Returns false, for the caller to
 * return. */
static bool add_driver(MwFault *fault)
{
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess ||
        cudaRuntimeGetVersion(&runtime) != cudaSuccess)
        return false;
    const int major = runtime / 1000, least = least_driver(major);
    size_t length = strlen(fault->text);
    if (driver == 0)
        snprintf(fault->text + length, sizeof fault->text - length, " (there is no driver; ");
    else
        snprintf(fault->text + length, sizeof fault->text - length,
                 " (the driver is of CUDA %d.%d; ", driver / 1000, driver % 1000 / 10);
    length = strlen(fault->text);
    if (least)
        snprintf(fault->text + length, sizeof fault->text - length,
                 "the program, of CUDA %d.%d, needs driver %d or later)", major,
                 runtime % 1000 / 10, least);
    else
        snprintf(fault->text + length, sizeof fault->text - length, "the program is of CUDA %d.%d)",
                 major, runtime % 1000 / 10);
    return false;
}

bool mw_cuda_count(int *count, MwFault *fault)
{
    *count = 0;
    const cudaError_t status = cudaGetDeviceCount(count);
    if (status == cudaSuccess && *count > 0)
        return true;
    mw_fault_set(fault, "this machine has no GPU that CUDA can use: %s",
                 cudaGetErrorString(status ? status : cudaErrorNoDevice));
    return status == cudaErrorInsufficientDriver ? add_driver(fault) : false;
}
