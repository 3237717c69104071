/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of floats of 16 bits: NCCL does those of two ranks, which it rounds once, and those of more
 * only where the run asks for it.
 *
 *     mpirun -n RANKS test_nccl_sums exact|rounded */
#include "base/half.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_transport.h"
#include "runtime/mpi/transport.h"
#include "tests/fake_cuda/nccl.h"

#include <stdio.h>
#include <string.h>

static int native_calls;

typedef ncclResult_t Reduction(const void *from, void *to, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream);
Reduction __real_ncclAllReduce, __real_ncclReduceScatter;
Reduction __wrap_ncclAllReduce, __wrap_ncclReduceScatter;

ncclResult_t __wrap_ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                                  ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
    native_calls++;
    return __real_ncclAllReduce(from, to, count, type, operation, comm, stream);
}

ncclResult_t __wrap_ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                                      ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
    native_calls++;
    return __real_ncclReduceScatter(from, to, count, type, operation, comm, stream);
}

enum { COUNT = 6, ARENA_BYTES = 64 };

typedef struct {
    MwTransport *transport;
    MwDevice *device;
    char *memory;
} Test;

static bool open_test(Test *test, MwArena *arena, bool rounds, MwFault *fault)
{
    static const MwPlan no_kernels;
    const MwTransportOptions options = {.timeout_s = 60, .rounds_sums = rounds};
    MwTransport *hosts = mw_transport_mpi_new(arena, false, fault);
    const MwMeshShape mesh = {.axis_count = 1, .size = {hosts->size}};
    test->device = mw_device_cuda_new(arena, &no_kernels, NULL, 1, fault);
    test->transport = mw_transport_nccl_new(arena, hosts, &options, fault);
    return test->transport && test->device->table->make_events(test->device, arena, 2, fault) &&
           test->transport->table->make_groups(test->transport, &mesh, 0, fault) &&
           (test->memory = test->transport->table->alloc_arena(test->transport, test->device,
                                                               ARENA_BYTES, fault));
}

static bool do_exchange(const Test *test, const MwExchange *exchange, MwFault *fault)
{
    const MwDeviceTable *device = test->device->table;
    return device->record_event(test->device, MW_QUEUE_COMPUTE, 0, fault) &&
           device->wait_event(test->device, MW_QUEUE_COMMUNICATION, 0, fault) &&
           test->transport->table->exchange(test->transport, test->device, exchange, 1, fault) &&
           device->record_event(test->device, MW_QUEUE_COMMUNICATION, 1, fault) &&
           device->wait_event(test->device, MW_QUEUE_COMPUTE, 1, fault);
}

/* The sum of 256 of rank 0 and 1 of each other rank, of which bf16 has the even ones. */
static bool add_up(const Test *test, MwCollective kind, float *sum, MwFault *fault)
{
    const MwExchange exchange = {.kind = kind,
                                 .type = MW_BF16,
                                 .combine = MW_COMBINE_SUM,
                                 .count = COUNT,
                                 .source = test->memory,
                                 .destination = test->memory + ARENA_BYTES / 2};
    uint16_t own[COUNT], found;
    for (int i = 0; i < COUNT; i++)
        own[i] = mw_bf16_from_f32(test->transport->rank == 0 ? 256 : 1);
    if (!test->transport->table->connect(test->transport, test->device, &exchange, 1, fault) ||
        !test->device->table->copy_in(test->device, test->memory, own, sizeof own, fault))
        return false;
    native_calls = 0;
    if (!do_exchange(test, &exchange, fault) ||
        !test->device->table->copy_out(test->device, &found, exchange.destination, sizeof found,
                                       fault))
        return false;
    *sum = mw_bf16_to_f32(found);
    return true;
}

static bool test_kind(const Test *test, int number, MwCollective kind, bool is_native)
{
    const float expected = test->transport->size == 3 && !is_native ? 258 : 256;
    MwFault fault = {0};
    float sum = 0;
    const bool worked = add_up(test, kind, &sum, &fault);
    const bool good = worked && sum == expected && native_calls == is_native;
    if (!worked)
        fprintf(stderr, "%s\n", fault.text);
    else if (!good)
        fprintf(stderr, "rank %d: %g, not %g, in %d calls of NCCL's\n", test->transport->rank, sum,
                expected, native_calls);
    if (test->transport->rank == 0)
        printf("%sok %d - %s of %d ranks by %s\n", good ? "" : "not ", number,
               mw_collective_name(kind), test->transport->size, is_native ? "NCCL" : "us");
    return good;
}

int main(int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    Test test = {0};
    const bool rounds = argc > 1 && strcmp(argv[1], "rounded") == 0;
    bool good = open_test(&test, arena, rounds, &fault);
    if (!good) {
        fprintf(stderr, "%s\n", fault.text);
        return 1;
    }
    const bool is_native = rounds || test.transport->size == 2;
    good = test_kind(&test, 1, MW_ALL_REDUCE, is_native);
    good = test_kind(&test, 2, MW_REDUCE_SCATTER, is_native) && good;
    if (test.transport->rank == 0)
        printf("1..2\n");
    mw_transport_free(&test.transport, test.device);
    mw_device_free(&test.device);
    mw_arena_free(&arena);
    return !good;
}
