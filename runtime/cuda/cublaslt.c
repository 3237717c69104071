/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/cublaslt.h"

#include <dlfcn.h>
#include <pthread.h>

MwCublasLt mw_cublaslt;

/* Why it cannot be used; without text if it can. */
static MwFault trouble;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *handle, const char *name, void **function)
{
    *function = dlsym(handle, name);
    return *function || mw_fault_set(&trouble, "cuBLASLt: %s", dlerror());
}

static void load(void)
{
    void *handle = dlopen(MW_CUBLASLT_NAME, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        mw_fault_set(&trouble, "cuBLASLt: %s", dlerror());
#define FIND(name) &&find(handle, #name, (void **)&mw_cublaslt.name)
    (void)(handle MW_CUBLASLT_FUNCTIONS(FIND));
}

bool mw_cublaslt_load(MwFault *fault)
{
    pthread_once(&once, load);
    return !trouble.text[0] || mw_fault_set(fault, "%s", trouble.text);
}
