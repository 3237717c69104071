/* SPDX-License-Identifier: MIT */
#include "runtime/backend.h"

#include "runtime/compiler.h"
#include "runtime/cpu/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool compile_c(const char *source, const char *library, MwFault *fault)
{
    const char *compiler = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
    const char *const words[] = {
        compiler, MW_KERNEL_C_FLAGS, "-shared", "-fPIC", "-o", library, source, "-lm", NULL};
    return mw_compiler_run("a C compiler", words, fault);
}

const MwBackend mw_backend_cpu = {
    .name = "cpu",
    .suffix = ".c",
    .compile = compile_c,
    .device_new = mw_device_cpu_new,
};

const MwBackend *mw_backend_find(const MwBackend *const *backends, const char *name, MwFault *fault)
{
    char names[64] = "";
    for (; *backends; backends++) {
        if (strcmp((*backends)->name, name) == 0)
            return *backends;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? " and " : "",
                 (*backends)->name);
    }
    mw_fault_set(fault, "this plan is for the backend '%s'; this program has %s", name, names);
    return NULL;
}
