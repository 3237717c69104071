/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A driver of CUDA for a machine without a GPU, by the name of libcuda.so.1: it has no GPU, and
 * code that is loaded through it goes nowhere. cuDNN loads the kernels of attention when it makes a
 * plan, also for a GPU that it is told of, and looks up all that it may ever call. */

typedef enum { SUCCESS, NO_DEVICE = 100 } Result;

static char loaded; /* what handles point to */

/* The functions of the driver have more parameters, which are not looked at. */
Result cuLibraryLoadData(void **library);
Result cuLibraryLoadData(void **library)
{
    *library = &loaded;
    return SUCCESS;
}

Result cuLibraryGetKernel(void **kernel);
Result cuLibraryGetKernel(void **kernel)
{
    *kernel = &loaded;
    return SUCCESS;
}

Result cuLibraryUnload(void);
Result cuLibraryUnload(void)
{
    return SUCCESS;
}

#define WITHOUT_GPU(name)                                                                          \
    Result name(void);                                                                             \
    Result name(void)                                                                              \
    {                                                                                              \
        return NO_DEVICE;                                                                          \
    }
WITHOUT_GPU(cuCtxGetCurrent)
WITHOUT_GPU(cuCtxGetLimit)
WITHOUT_GPU(cuCtxPopCurrent)
WITHOUT_GPU(cuCtxPushCurrent)
WITHOUT_GPU(cuDeviceGet)
WITHOUT_GPU(cuDeviceGetCount)
WITHOUT_GPU(cuDriverGetVersion)
WITHOUT_GPU(cuGetErrorName)
WITHOUT_GPU(cuGetErrorString)
WITHOUT_GPU(cuInit)
WITHOUT_GPU(cuKernelGetAttribute)
WITHOUT_GPU(cuKernelGetFunction)
WITHOUT_GPU(cuKernelSetAttribute)
WITHOUT_GPU(cuLaunchCooperativeKernel)
WITHOUT_GPU(cuLaunchKernel)
WITHOUT_GPU(cuLaunchKernelEx)
WITHOUT_GPU(cuLibraryLoadFromFile)
WITHOUT_GPU(cuLinkAddData)
WITHOUT_GPU(cuLinkComplete)
WITHOUT_GPU(cuLinkCreate)
WITHOUT_GPU(cuLinkDestroy)
WITHOUT_GPU(cuModuleGetFunction)
WITHOUT_GPU(cuModuleLoadData)
WITHOUT_GPU(cuModuleUnload)
WITHOUT_GPU(cuOccupancyMaxPotentialClusterSize)
WITHOUT_GPU(cuStreamGetCtx)
WITHOUT_GPU(cuTensorMapEncodeIm2col)
WITHOUT_GPU(cuTensorMapEncodeTiled)
