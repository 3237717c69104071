/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/nccl_transport.h"

#include <cuda_runtime_api.h>
#include <string.h>

/* The UUID of the GPU of a rank: parts of a GPU (MIG) have their own, and GPUs of machines that
 * have one name differ. */
typedef struct {
    char is_known;
    cudaUUID_t uuid;
} Place;

bool mw_nccl_is_possible(MwArena *arena, MwTransport *hosts, bool *possible, MwFault *fault)
{
    Place own = {0}, *all = MW_NEW(arena, Place, hosts->size);
    struct cudaDeviceProp properties;
    int gpu;
    if (cudaGetDevice(&gpu) == cudaSuccess &&
        cudaGetDeviceProperties(&properties, gpu) == cudaSuccess)
        own = (Place){.is_known = true, .uuid = properties.uuid};
    if (!hosts->table->allgather(hosts, &own, sizeof own, all, fault))
        return false;
    *possible = true;
    for (int a = 0; a < hosts->size; a++) {
        *possible &= all[a].is_known;
        for (int b = 0; b < a; b++)
            *possible &= memcmp(&all[a], &all[b], sizeof *all) != 0;
    }
    return true;
}
