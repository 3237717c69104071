/* SPDX-License-Identifier: MIT */
/* The device memory that collectives read and write. It comes from ncclMemAlloc and is registered
 * with the communicators of its rank, so that NCCL may reach it without copies into buffers of its
 * own (NCCL's user guide, "User Buffer Registration"). Where one rank cannot have it so, as with a
 * library before 2.19, no rank has: a collective must not meet registered memory on some ranks and
 * other memory on others. Then it is memory of the device.
 *
 * Registered memory may be used at the same offset on all ranks only, which is so for arenas.
 * Communicators of messages have none registered: one end of a message may be packed and the other
 * not. ncclMemAlloc rounds up to what the driver maps at once, or what NVLink's switches multicast:
 * 2 MiB or, by the library's version, much more. So there is one allocation, and one that is
 * refused for its size falls back to the device's. */
#ifndef MW_RUNTIME_CUDA_NCCL_MEMORY_H
#define MW_RUNTIME_CUDA_NCCL_MEMORY_H

#include "runtime/cuda/nccl_comm.h"

typedef struct {
    int64_t bytes;
    void *at;     /* NULL: not allocated */
    bool is_nccl; /* of ncclMemAlloc */
    struct {
        const MwNcclComm *comm;
        void *handle;
    } registered[MW_MAX_AXES];
    int registered_count;
} MwNcclMemory;

/* Allocates memory->bytes. `registers`: this rank has collectives, and is to register the memory.
 * Collective over all ranks. */
bool mw_nccl_memory_alloc(MwArena *arena, MwTransport *hosts, MwDevice *device,
                          MwNcclMemory *memory, bool registers, MwFault *fault);
/* Registers the memory with a communicator that is ready, if it is of ncclMemAlloc. */
bool mw_nccl_memory_register(MwNccl *nccl, MwNcclMemory *memory, const MwNcclComm *comm,
                             MwFault *fault);
/* Before the communicators end, unless they are aborted; nothing on the device uses the memory. */
void mw_nccl_memory_deregister(MwNccl *nccl, MwNcclMemory *memory);
/* When the communicators have ended. */
void mw_nccl_memory_free(MwNcclMemory *memory, MwDevice *device);

#endif
