/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/cudnn.h"

#include <dlfcn.h>
#include <pthread.h>

MwCudnn mw_cudnn;

/* Why it cannot be used; without text if it can. */
static MwFault trouble;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *handle, const char *name, void **function)
{
    *function = dlsym(handle, name);
    return *function || mw_fault_set(&trouble, "cuDNN: %s", dlerror());
}

/* cuDNN compiles kernels of attention by NVRTC, which it looks up by name where the system has its
 * libraries. It stands with those of the toolkit, where programs of meshwright look; once loaded it
 * is found. Without it there is no attention by cuDNN. */
static void load_nvrtc(void)
{
    dlopen(MW_NVRTC_NAME, RTLD_LAZY | RTLD_LOCAL);
}

static void load(void)
{
    load_nvrtc();
    void *handle = dlopen("libcudnn.so.9", RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        mw_fault_set(&trouble, "cuDNN: %s", dlerror());
#define FIND(result, name, parameters) &&find(handle, #name, (void **)&mw_cudnn.name)
    (void)(handle MW_CUDNN_FUNCTIONS(FIND));
}

bool mw_cudnn_load(MwFault *reason)
{
    pthread_once(&once, load);
    return !trouble.text[0] || mw_fault_set(reason, "%s", trouble.text);
}
