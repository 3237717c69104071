/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which GPU a rank takes, and whether each has one of its own, as NCCL needs it: `mpirun -n N
 * test_places possible|shared`, with as many as FAKE_CUDA_DEVICES says. Prints TAP on rank 0. */
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_transport.h"
#include "runtime/exec/transport.h"
#include "runtime/mpi/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const MwPlan plan;
    const int count = atoi(getenv("FAKE_CUDA_DEVICES"));
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    int gpu = -1, good = 1;
    bool possible = false;
    MwTransport *transport = mw_transport_mpi_new(arena, true, &fault);
    MwDevice *device = mw_device_cuda_new(arena, &plan, NULL, 1, &fault);
    int *all = MW_NEW(arena, int, transport->size);
    if (device)
        cudaGetDevice(&gpu);
    transport->table->allgather(transport, &gpu, sizeof gpu, all, &fault);
    for (int rank = 0; rank < transport->size; rank++)
        good &= all[rank] == rank % count;
    const bool known = mw_nccl_is_possible(arena, transport, &possible, &fault) && argc == 2 &&
                       possible == (strcmp(argv[1], "possible") == 0);
    if (transport->rank == 0) {
        printf("1..2\n%sok 1 - ranks take the GPUs of the machine in turn\n", good ? "" : "not ");
        printf("%sok 2 - whether each rank has a GPU of its own\n", known ? "" : "not ");
        for (int rank = 0; rank < transport->size; rank++)
            printf("# rank %d: GPU %d\n", rank, all[rank]);
    }
    mw_transport_free(&transport, device);
    mw_device_free(&device);
    mw_arena_free(&arena);
    return !good || !known;
}
