/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/cuda_kernels.h"

#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool compile(const char *source, const char *library, MwFault *fault)
{
    char command[4096];
    snprintf(command, sizeof command, "%s/tests/fake_cuda/nvcc -shared -o %s %s", SOURCE_ROOT,
             library, source);
    return system(command) == 0 || mw_fault_set(fault, "the kernels do not compile: %s", command);
}

const MwKernelEntry *cuda_kernels_load(const char *source, MwFault *fault)
{
    char folder[256], text[300], library[300];
    snprintf(folder, sizeof folder, "%s/cuda-kernels-XXXXXX", mw_file_scratch());
    if (!mkdtemp(folder)) {
        mw_fault_set(fault, "cannot make a folder: %s", strerror(errno));
        return NULL;
    }
    snprintf(text, sizeof text, "%s/kernels.cu", folder);
    snprintf(library, sizeof library, "%s/kernels.so", folder);
    void *loaded = NULL;
    if (!mw_file_write(text, source, strlen(source), 0600))
        mw_fault_set(fault, "cannot write %s: %s", text, strerror(errno));
    else if (compile(text, library, fault)) {
        loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (!loaded)
            mw_fault_set(fault, "cannot load the kernels: %s", dlerror());
        unlink(library);
        unlink(text);
        rmdir(folder);
    }
    return loaded ? dlsym(loaded, MW_KERNEL_TABLE_SYMBOL) : NULL;
}
