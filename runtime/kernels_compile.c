/* SPDX-License-Identifier: MIT */
#include "runtime/kernels_compile.h"

#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Suffixes of files of kernels that run on the host, beside those of a GPU. */
#define HOST_SOURCE ".host.c"
#define HOST_LIBRARY ".host.so"

/* The message from the rank that compiles to the other ranks of its machine. */
typedef struct {
    char host[64];
    char folder
        [128]; /* with the kernels' source and kernels.so; empty: this rank does not compile */
    bool failed;
    MwFault fault;
} Offer;

/* Writes the path of the kernels' file with this suffix to `path`. */
static void file_path(const Offer *offer, const char *suffix, char path[192])
{
    snprintf(path, 192, "%s/kernels%s", offer->folder, suffix);
}

static bool has_host_kernels(const MwPlan *plan)
{
    bool any = false;
    for (int i = 0; i < plan->kernel_count; i++)
        any |= plan->kernels[i].on_host;
    return any;
}

/* The part of the source that is for the host. */
static bool compile_for_host(const MwPlan *plan, Offer *offer)
{
    char source[192], library[192];
    file_path(offer, HOST_SOURCE, source);
    file_path(offer, HOST_LIBRARY, library);
    FILE *file = fopen(source, "w");
    if (!file || fputs(MW_KERNEL_HOST_LINE, file) < 0 || fputs(plan->kernel_source, file) < 0 ||
        fclose(file) != 0)
        return mw_fault_set(&offer->fault, "cannot write %s: %s", source, strerror(errno));
    return mw_backend_cpu.compile(source, library, &offer->fault);
}

static bool compile(const MwPlan *plan, const MwBackend *backend, Offer *offer)
{
    char source[192], library[192];
    const char *parent = mw_file_scratch();
    int length = snprintf(offer->folder, sizeof offer->folder, "%s/meshwright-XXXXXX", parent);
    if ((size_t)length >= sizeof offer->folder || !mkdtemp(offer->folder)) {
        *offer->folder = '\0';
        return mw_fault_set(&offer->fault, "cannot make a folder in %s: %s", parent,
                            strerror(errno));
    }
    file_path(offer, mw_backend_info(backend->id)->suffix, source);
    file_path(offer, ".so", library);
    if (!mw_file_write(source, plan->kernel_source, strlen(plan->kernel_source), 0600))
        return mw_fault_set(&offer->fault, "cannot write %s: %s", source, strerror(errno));
    return backend->compile(source, library, &offer->fault) &&
           (!has_host_kernels(plan) || compile_for_host(plan, offer));
}

static void remove_files(const MwBackend *backend, const Offer *offer)
{
    char path[192];
    if (!*offer->folder)
        return;
    file_path(offer, mw_backend_info(backend->id)->suffix, path);
    unlink(path);
    file_path(offer, ".so", path);
    unlink(path);
    file_path(offer, HOST_SOURCE, path);
    unlink(path);
    file_path(offer, HOST_LIBRARY, path);
    unlink(path);
    rmdir(offer->folder);
}

/* The table of the kernels has those of the host, whose library is loaded first. */
static const MwKernelEntry *load(const MwPlan *plan, const Offer *offer, MwFault *fault)
{
    char path[192];
    file_path(offer, HOST_LIBRARY, path);
    if (has_host_kernels(plan) && !dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
        mw_fault_set(fault, "cannot load the kernels of the host: %s", dlerror());
        return NULL;
    }
    file_path(offer, ".so", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const MwKernelEntry *table = library ? dlsym(library, MW_KERNEL_TABLE_SYMBOL) : NULL;
    if (!table)
        mw_fault_set(fault, "cannot load the kernels: %s", dlerror());
    return table;
}

/* The lowest rank on the same machine. */
static int compiling_rank(const Offer *all, int rank)
{
    int first = 0;
    while (strcmp(all[first].host, all[rank].host) != 0)
        first++;
    return first;
}

const MwKernelEntry *mw_kernels_compile(MwArena *arena, const MwPlan *plan,
                                        const MwBackend *backend, MwTransport *transport,
                                        MwFault *fault)
{
    const int rank = transport->rank;
    Offer own = {0}, *all = MW_NEW(arena, Offer, transport->size);
    gethostname(own.host, sizeof own.host - 1);
    if (!transport->table->allgather(transport, &own, sizeof own, all, fault))
        return NULL;
    const int compiler = compiling_rank(all, rank);
    if (compiler == rank)
        own.failed = !compile(plan, backend, &own);
    if (!transport->table->allgather(transport, &own, sizeof own, all, fault))
        return NULL;
    *fault = all[compiler].fault;
    const MwKernelEntry *table = all[compiler].failed ? NULL : load(plan, &all[compiler], fault);
    if (!transport->table->barrier(transport, fault))
        table = NULL;
    remove_files(backend, &own);
    return table;
}
