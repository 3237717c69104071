/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Communicators whose work hangs are aborted: each abort waits for the GPU, which is idle when all
 * are. */
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_comm.h"
#include "runtime/mpi/transport.h"
#include "tests/unit/support.h"

#include <stdlib.h>

enum { COMMS = 3, TIMEOUT_S = 60 };

static bool nothing(void *context, MwFault *fault)
{
    (void)context, (void)fault;
    return true;
}

typedef struct {
    MwArena *arena;
    MwNccl nccl;
    MwNcclComm comms[COMMS];
    cudaStream_t streams[COMMS];
    float *memory;
} Test;

static bool reduce(Test *test, int i, MwFault *fault)
{
    MwNcclComm *comm = &test->comms[i];
    return MW_NCCL_CALL(&test->nccl, comm, ncclAllReduce, test->memory, test->memory, 1,
                        ncclFloat32, ncclSum, comm->comm, test->streams[i]) &&
           mw_nccl_wait_ready(&test->nccl, comm, "ncclAllReduce", fault);
}

/* The first call connects, and is done. */
static bool open_one(Test *test, int i, MwFault *fault)
{
    MwNcclComm *comm = &test->comms[i];
    const MwNcclRootId root = mw_nccl_root_id(&test->nccl, comm);
    const MwNcclMembership membership = {.id = root.id, .members = 1};
    return mw_nccl_comm_begin(&test->nccl, test->arena, comm, &membership, fault) &&
           mw_nccl_wait_ready(&test->nccl, comm, "ncclCommInitRankConfig", fault) &&
           MW_NCCL_CUDA(&test->nccl, cudaStreamCreateWithFlags, &test->streams[i],
                        cudaStreamNonBlocking) &&
           reduce(test, i, fault) &&
           MW_NCCL_CUDA(&test->nccl, cudaStreamSynchronize, test->streams[i]);
}

static bool hang(Test *test, int i, MwFault *fault)
{
    return reduce(test, i, fault) && cudaStreamQuery(test->streams[i]) == cudaErrorNotReady;
}

START_TEST(work_that_hangs_is_aborted)
{
    static const MwPlan no_kernels;
    Test test = {.arena = mw_arena_new(), .nccl.progress = nothing};
    MwFault fault = {0};
    MwTransport *hosts = mw_transport_mpi_new(test.arena, false, &fault);
    MwDevice *device = mw_device_cuda_new(test.arena, &no_kernels, NULL, 1, &fault);
    test.memory = device->table->alloc(device, sizeof *test.memory, &fault);
    ck_assert(mw_nccl_init(&test.nccl, 0, TIMEOUT_S, false, &fault));
    for (int i = 0; i < COMMS; i++)
        ck_assert_msg(open_one(&test, i, &fault), "%s", fault.text);
    for (int i = 0; i < COMMS; i++)
        ck_assert_msg(hang(&test, i, &fault), "%s", fault.text);
    mw_nccl_end(&test.nccl, true);
    device->table->release(device, test.memory, sizeof *test.memory);
    mw_transport_free(&hosts, device);
    mw_device_free(&device);
    mw_arena_free(&test.arena);
}
END_TEST

/* What a run says, what the user says, and what holds. */
static const struct {
    bool mixes;
    const char *said, *holds;
} mixing[] = {
    {false, NULL, "0"}, {true, NULL, "1"}, {false, "1", "1"}, {true, "0", "0"}, {true, "1", "1"}};

START_TEST(what_the_user_says_of_graphs_holds)
{
    MwFault fault = {0};
    MwNccl nccl = {.progress = nothing};
    if (mixing[_i].said)
        setenv("NCCL_GRAPH_MIXING_SUPPORT", mixing[_i].said, true);
    ck_assert(mw_nccl_init(&nccl, 0, TIMEOUT_S, mixing[_i].mixes, &fault));
    ck_assert_str_eq(getenv("NCCL_GRAPH_MIXING_SUPPORT"), mixing[_i].holds);
    ck_assert_int_eq(nccl.mixes, *mixing[_i].holds == '1');
    mw_nccl_end(&nccl, false);
}
END_TEST

int main(void)
{
    setenv("FAKE_CUDA_FAULT", "ncclAllReduce:4:hang,ncclAllReduce:5:hang,ncclAllReduce:6:hang",
           true);
    Suite *suite = suite_create("abort");
    TCase *tests = tcase_create("abort");
    tcase_set_timeout(tests, 20);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, work_that_hangs_is_aborted);
    tcase_add_loop_test(tests, what_the_user_says_of_graphs_holds, 0, MW_COUNT(mixing));
    return run_suite(suite);
}
