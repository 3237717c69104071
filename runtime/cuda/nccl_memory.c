/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/nccl_memory.h"

#include <string.h>

/* Not in the header, or the library, of an earlier version. */
enum { FIRST_VERSION = 21900 };
ncclResult_t ncclMemAlloc(void **memory, size_t bytes) __attribute__((weak));
ncclResult_t ncclMemFree(void *memory) __attribute__((weak));
ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes, void **handle)
    __attribute__((weak));
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle) __attribute__((weak));

/* ---- Allocation ---- */

/* Whether the library has all that is needed. */
static bool is_possible(void)
{
    int version = 0;
    return ncclGetVersion(&version) == ncclSuccess && version >= FIRST_VERSION && ncclMemAlloc &&
           ncclMemFree && ncclCommRegister && ncclCommDeregister;
}

static bool take(MwNcclMemory *memory)
{
    memory->is_nccl =
        is_possible() && ncclMemAlloc(&memory->at, (size_t)mw_max(memory->bytes, 1)) == ncclSuccess;
    if (memory->is_nccl)
        return true;
    memory->at = NULL;
    cudaGetLastError(); /* clears the error, which a later call would report */
    return false;
}

bool mw_nccl_memory_alloc(MwArena *arena, MwTransport *hosts, MwDevice *device,
                          MwNcclMemory *memory, bool registers, MwFault *fault)
{
    char *all = MW_NEW(arena, char, hosts->size);
    const char lacks = registers && !take(memory);
    if (!hosts->table->allgather(hosts, &lacks, 1, all, fault))
        return false;
    if (memory->is_nccl && memchr(all, true, (size_t)hosts->size))
        mw_nccl_memory_free(memory, device);
    if (!memory->at)
        memory->at = device->table->alloc(device, memory->bytes, fault);
    return memory->at != NULL;
}

void mw_nccl_memory_free(MwNcclMemory *memory, MwDevice *device)
{
    if (memory->is_nccl)
        ncclMemFree(memory->at);
    else if (memory->at)
        device->table->release(device, memory->at, memory->bytes);
    *memory = (MwNcclMemory){.bytes = memory->bytes};
}

/* ---- Registration ---- */

bool mw_nccl_memory_register(MwNccl *nccl, MwNcclMemory *memory, const MwNcclComm *comm,
                             MwFault *fault)
{
    void *handle = NULL;
    if (!memory->is_nccl)
        return true;
    if (!MW_NCCL_CALL(nccl, comm, ncclCommRegister, comm->comm, memory->at,
                      (size_t)mw_max(memory->bytes, 1), &handle) ||
        !mw_nccl_wait_ready(nccl, comm, "ncclCommRegister", fault))
        return false;
    if (!handle)
        return true; /* NCCL_LOCAL_REGISTER=0 */
    MW_ASSERT(memory->registered_count < MW_COUNT(memory->registered));
    memory->registered[memory->registered_count].comm = comm;
    memory->registered[memory->registered_count++].handle = handle;
    return true;
}

void mw_nccl_memory_deregister(MwNccl *nccl, MwNcclMemory *memory)
{
    MwFault ignored, *fault = &ignored;
    for (; memory->registered_count > 0; memory->registered_count--) {
        const MwNcclComm *comm = memory->registered[memory->registered_count - 1].comm;
        if (!MW_NCCL_CALL(nccl, comm, ncclCommDeregister, comm->comm,
                          memory->registered[memory->registered_count - 1].handle) ||
            !mw_nccl_wait_ready(nccl, comm, "ncclCommDeregister", fault))
            return;
    }
}
