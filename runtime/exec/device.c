/* SPDX-License-Identifier: MIT */
#include "runtime/exec/device.h"

#include <string.h>

static MwKernel *find_kernel(const MwKernelEntry *kernels, const char *name)
{
    for (; kernels && kernels->name; kernels++)
        if (strcmp(kernels->name, name) == 0)
            return kernels->function;
    return NULL;
}

MwKernel **mw_device_kernels(MwArena *arena, const MwPlan *plan, const MwKernelEntry *kernels,
                             MwFault *fault)
{
    MwKernel **all = MW_NEW(arena, MwKernel *, plan->kernel_count);
    for (int i = 0; i < plan->kernel_count; i++) {
        all[i] = find_kernel(kernels, plan->kernels[i].name);
        if (!all[i]) {
            mw_fault_set(fault, "the program has no kernel %s", plan->kernels[i].name);
            return NULL;
        }
    }
    return all;
}

void mw_device_free(MwDevice **device)
{
    if (*device)
        (*device)->table->destroy(*device);
    *device = NULL;
}
