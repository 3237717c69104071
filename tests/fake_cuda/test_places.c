/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which GPU a rank takes: `mpirun -n N test_places`, with as many as FAKE_CUDA_DEVICES says. Prints
 * TAP on rank 0. */
#include "runtime/cuda/device.h"
#include "runtime/exec/transport.h"
#include "runtime/mpi/transport.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static const MwPlan plan;
    const int count = atoi(getenv("FAKE_CUDA_DEVICES"));
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    int gpu = -1, good = 1;
    MwTransport *transport = mw_transport_mpi_new(arena, true, &fault);
    MwDevice *device = mw_device_cuda_new(arena, &plan, NULL, 1, &fault);
    int *all = MW_NEW(arena, int, transport->size);
    if (device)
        cudaGetDevice(&gpu);
    transport->table->allgather(transport, &gpu, sizeof gpu, all, &fault);
    for (int rank = 0; rank < transport->size; rank++)
        good &= all[rank] == rank % count;
    if (transport->rank == 0) {
        printf("%sok 1 - ranks take the GPUs of the machine in turn\n1..1\n", good ? "" : "not ");
        for (int rank = 0; rank < transport->size; rank++)
            printf("# rank %d: GPU %d\n", rank, all[rank]);
    }
    mw_transport_free(&transport, device);
    mw_device_free(&device);
    mw_arena_free(&arena);
    return !good;
}
