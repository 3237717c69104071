/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL with one rank, which needs no second GPU: a communicator of one is made and settles, memory
 * is registered with it, a collective and a message to itself are done in time, and it ends. In a
 * run, groups of one have no communicator. NCCL connects at first calls, before which the GPU is
 * idle. */
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_memory.h"
#include "runtime/mpi/transport.h"
#include "tests/unit/support.h"

enum { COUNT = 1000, TIMEOUT_S = 60 };

typedef struct {
    MwArena *arena;
    MwTransport *hosts;
    MwDevice *device;
    cudaStream_t stream;
    MwNccl nccl;
    MwNcclComm comm;
    MwNcclMemory memory;
    float *from, *to; /* [COUNT], there */
    MwFault fault;
} Test;

static bool nothing(void *context, MwFault *fault)
{
    (void)context, (void)fault;
    return true;
}

static bool make_comm(Test *test, MwFault *fault)
{
    static const MwPlan no_kernels;
    test->hosts = mw_transport_mpi_new(test->arena, false, fault);
    test->device =
        test->hosts ? mw_device_cuda_new(test->arena, &no_kernels, NULL, 1, fault) : NULL;
    if (!test->device || !mw_nccl_init(&test->nccl, 0, TIMEOUT_S, false, fault))
        return false;
    test->nccl.progress = nothing;
    test->comm = (MwNcclComm){.label = "of one"};
    test->stream = mw_device_cuda_stream(test->device, MW_QUEUE_COMPUTE);
    const MwNcclRootId root = mw_nccl_root_id(&test->nccl, &test->comm);
    const MwNcclMembership membership = {.id = root.id, .members = 1};
    *fault = root.fault;
    return !root.failed &&
           mw_nccl_comm_begin(&test->nccl, test->arena, &test->comm, &membership, fault) &&
           mw_nccl_wait_ready(&test->nccl, &test->comm, "ncclCommInitRankConfig", fault);
}

static bool fill(Test *test, MwFault *fault)
{
    float host[COUNT];
    const MwDeviceTable *table = test->device->table;
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    test->memory.bytes = 2 * sizeof host;
    if (!mw_nccl_memory_alloc(test->arena, test->hosts, test->device, &test->memory, true, fault))
        return false;
    test->from = test->memory.at;
    test->to = test->from + COUNT;
    return mw_nccl_memory_register(&test->nccl, &test->memory, &test->comm, fault) &&
           table->copy_in(test->device, test->from, host, sizeof host, fault) &&
           table->synchronize(test->device, fault);
}

/* All that is under way is done, and `to` is what `from` is. */
static bool has_come(Test *test, const char *call, MwFault *fault)
{
    float host[COUNT];
    const MwDeviceTable *table = test->device->table;
    if (!mw_nccl_wait_ready(&test->nccl, &test->comm, call, fault) ||
        !mw_nccl_watch_call(&test->nccl, &test->nccl.collectives, &test->comm, call, test->stream,
                            fault) ||
        !table->copy_out(test->device, host, test->to, sizeof host, fault) ||
        !mw_nccl_idle(&test->nccl, fault))
        return false;
    for (int i = 0; i < COUNT; i++)
        if (host[i] != (float)i)
            return mw_fault_set(fault, "%s: element %d is %g", call, i, host[i]);
    return table->zero(test->device, test->to, sizeof host, fault) &&
           table->synchronize(test->device, fault);
}

static bool reduce(Test *test, MwFault *fault)
{
    return MW_NCCL_CALL(&test->nccl, &test->comm, ncclAllReduce, test->from, test->to, COUNT,
                        ncclFloat32, ncclSum, test->comm.comm, test->stream) &&
           has_come(test, "ncclAllReduce", fault);
}

static bool send_to_itself(Test *test, MwFault *fault)
{
    return MW_NCCL_CALL(&test->nccl, NULL, ncclGroupStart) &&
           MW_NCCL_CALL(&test->nccl, &test->comm, ncclSend, test->from, COUNT, ncclFloat32, 0,
                        test->comm.comm, test->stream) &&
           MW_NCCL_CALL(&test->nccl, &test->comm, ncclRecv, test->to, COUNT, ncclFloat32, 0,
                        test->comm.comm, test->stream) &&
           MW_NCCL_CALL(&test->nccl, NULL, ncclGroupEnd) && has_come(test, "ncclGroupEnd", fault);
}

START_TEST(one_rank_is_a_group)
{
    Test test = {.arena = mw_arena_new()};
    const bool good = make_comm(&test, &test.fault) && fill(&test, &test.fault) &&
                      reduce(&test, &test.fault) && send_to_itself(&test, &test.fault);
    ck_assert_msg(good, "%s", test.fault.text);
    mw_nccl_memory_deregister(&test.nccl, &test.memory);
    mw_nccl_end(&test.nccl, false);
    mw_nccl_memory_free(&test.memory, test.device);
    mw_transport_free(&test.hosts, test.device);
    mw_device_free(&test.device);
    mw_arena_free(&test.arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nccl");
    TCase *tests = tcase_create("nccl");
    tcase_set_timeout(tests, TIMEOUT_S);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, one_rank_is_a_group);
    return run_suite(suite);
}
