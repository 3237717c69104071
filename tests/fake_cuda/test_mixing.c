/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives that are done together, as one call of NCCL's. And a collective that is called right
 * after a graph with collectives was launched: NCCL is told that none meets a graph, so that the
 * call waits for it.
 *
 *     mpirun -n 2 test_mixing */
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_transport.h"
#include "runtime/mpi/transport.h"
#include "tests/fake_cuda/nccl.h"

#include <stdio.h>

enum { COUNT = 64, STEPS = 3 };

static int groups; /* that the transport has ended */

ncclResult_t __real_ncclGroupEnd(void);
ncclResult_t __wrap_ncclGroupEnd(void);

ncclResult_t __wrap_ncclGroupEnd(void)
{
    groups++;
    return __real_ncclGroupEnd();
}

typedef struct {
    MwArena *arena;
    MwTransport *transport;
    MwDevice *device;
    MwExchange exchange;
} Test;

static bool exchange(const Test *test, const MwExchange *exchanges, int count, MwFault *fault)
{
    const MwDeviceTable *device = test->device->table;
    return device->record_event(test->device, MW_QUEUE_COMPUTE, 0, fault) &&
           device->wait_event(test->device, MW_QUEUE_COMMUNICATION, 0, fault) &&
           test->transport->table->exchange(test->transport, test->device, exchanges, count,
                                            fault) &&
           device->record_event(test->device, MW_QUEUE_COMMUNICATION, 1, fault) &&
           device->wait_event(test->device, MW_QUEUE_COMPUTE, 1, fault);
}

static bool open_test(Test *test, MwArena *arena, MwFault *fault)
{
    static const MwPlan no_kernels;
    const MwMeshShape mesh = {.axis_count = 1, .size = {2}};
    const MwTransportOptions options = {.timeout_s = 60};
    MwTransport *hosts = mw_transport_mpi_new(arena, false, fault);
    test->device = mw_device_cuda_new(arena, &no_kernels, NULL, 1, fault);
    test->transport = mw_transport_nccl_new(arena, hosts, &options, fault);
    if (!test->transport || !test->device->table->make_events(test->device, arena, 2, fault) ||
        !test->transport->table->make_groups(test->transport, &mesh, 0, fault))
        return false;
    void *memory = test->transport->table->alloc_arena(test->transport, test->device,
                                                       COUNT * sizeof(float), fault);
    test->exchange = (MwExchange){.kind = MW_ALL_REDUCE,
                                  .type = MW_F32,
                                  .combine = MW_COMBINE_SUM,
                                  .count = COUNT,
                                  .source = memory,
                                  .destination = memory};
    return memory && test->transport->table->connect(test->transport, test->device, &test->exchange,
                                                     1, fault);
}

static bool group(const Test *test, MwFault *fault)
{
    MwExchange halves[] = {test->exchange, test->exchange};
    for (int i = 0; i < MW_COUNT(halves); i++) {
        halves[i].count = COUNT / 2;
        halves[i].source = (float *)test->exchange.destination + i * COUNT / 2;
        halves[i].destination = (void *)(uintptr_t)halves[i].source;
    }
    groups = 0;
    return exchange(test, halves, MW_COUNT(halves), fault) && groups == 1 &&
           exchange(test, halves, 1, fault) && groups == 1 &&
           test->device->table->synchronize(test->device, fault);
}

static bool mix(const Test *test, MwFault *fault)
{
    const MwDeviceTable *device = test->device->table;
    device->make_graphs(test->device, test->arena, 1);
    if (!device->begin_capture(test->device, 0, fault) ||
        !exchange(test, &test->exchange, 1, fault) || !device->end_capture(test->device, fault))
        return false;
    for (int step = 1; step <= STEPS; step++)
        if (!device->replay(test->device, 0, fault) ||
            !test->transport->table->replayed(test->transport, test->device, fault) ||
            !exchange(test, &test->exchange, 1, fault))
            return false;
    return device->synchronize(test->device, fault);
}

int main(void)
{
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    Test test = {.arena = arena};
    const bool is_open = open_test(&test, arena, &fault);
    const bool groups_them = is_open && group(&test, &fault);
    const bool good = groups_them && mix(&test, &fault);
    if (!good)
        fprintf(stderr, "rank %d: %d groups; %s\n", test.transport->rank, groups, fault.text);
    if (test.transport->rank == 0) {
        printf("1..2\n%sok 1 - collectives that are done together are one call\n",
               groups_them ? "" : "not ");
        printf("%sok 2 - a call waits for graphs\n", good ? "" : "not ");
    }
    mw_transport_free(&test.transport, test.device);
    mw_device_free(&test.device);
    mw_arena_free(&arena);
    return !good;
}
