/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that is registered with communicators, in the order in which NCCL wants it; and that the
 * fake ends a process which does it in another. */
#include "runtime/cuda/device.h"
#include "runtime/cuda/nccl_memory.h"
#include "runtime/mpi/transport.h"
#include "tests/unit/support.h"

#include <signal.h>

enum { COMMS = 2, BYTES = 1000, TIMEOUT_S = 60 };

static bool nothing(void *context, MwFault *fault)
{
    (void)context, (void)fault;
    return true;
}

static MwArena *arena;
static MwTransport *hosts;
static MwDevice *device;
static MwNccl nccl;
static MwNcclComm comms[COMMS]; /* of one rank each */
static MwNcclMemory memory;
static MwFault fault;

static bool make_comm(MwNcclComm *comm)
{
    const MwNcclRootId root = mw_nccl_root_id(&nccl, comm);
    const MwNcclMembership membership = {.id = root.id, .members = 1};
    return mw_nccl_comm_begin(&nccl, arena, comm, &membership, &fault) &&
           mw_nccl_wait_ready(&nccl, comm, "ncclCommInitRankConfig", &fault);
}

static void setup(void)
{
    static const MwPlan no_kernels;
    arena = mw_arena_new();
    nccl.progress = nothing;
    memory.bytes = BYTES;
    hosts = mw_transport_mpi_new(arena, false, &fault);
    device = mw_device_cuda_new(arena, &no_kernels, NULL, 1, &fault);
    ck_assert(mw_nccl_init(&nccl, 0, TIMEOUT_S, false, &fault));
    ck_assert(mw_nccl_memory_alloc(arena, hosts, device, &memory, true, &fault));
    ck_assert(memory.is_nccl);
    for (int i = 0; i < COMMS; i++)
        ck_assert_msg(make_comm(&comms[i]) &&
                          mw_nccl_memory_register(&nccl, &memory, &comms[i], &fault),
                      "%s", fault.text);
}

static void teardown(void)
{
    mw_transport_free(&hosts, device);
    mw_device_free(&device);
    mw_arena_free(&arena);
}

/* `aborts`: nothing is deregistered. */
static void end(bool aborts)
{
    ck_assert_int_eq(memory.registered_count, COMMS);
    if (!aborts)
        mw_nccl_memory_deregister(&nccl, &memory);
    mw_nccl_end(&nccl, aborts);
    mw_nccl_memory_free(&memory, device);
    ck_assert(!memory.at && !nccl.failed);
}

START_TEST(memory_is_registered_until_the_end)
{
    end(_i);
}
END_TEST

static void end_registered(void)
{
    mw_nccl_end(&nccl, false);
}

static void free_registered(void)
{
    mw_nccl_memory_free(&memory, device);
}

static void free_twice(void)
{
    MwNcclMemory copy = memory;
    end(false);
    mw_nccl_memory_free(&copy, device);
}

static void free_as_another_s(void)
{
    mw_nccl_memory_deregister(&nccl, &memory);
    cudaFree(memory.at);
}

static void free_what_is_another_s(void)
{
    ncclMemFree(device->table->alloc(device, BYTES, &fault));
}

static void register_host_memory(void)
{
    MwNcclMemory host = {.bytes = BYTES, .at = mw_arena_alloc(arena, BYTES), .is_nccl = true};
    mw_nccl_memory_register(&nccl, &host, &comms[0], &fault);
}

static void register_too_much(void)
{
    MwNcclMemory more = {.bytes = 2 * BYTES, .at = memory.at, .is_nccl = true};
    mw_nccl_memory_register(&nccl, &more, &comms[0], &fault);
}

static void deregister_late(void)
{
    ck_assert(ncclCommFinalize(comms[0].comm) == ncclInProgress);
    mw_nccl_memory_deregister(&nccl, &memory);
    mw_nccl_memory_deregister(&nccl, &memory);
}

static void (*const wrongs[])(void) = {
    end_registered,         free_registered,      free_twice,        free_as_another_s,
    free_what_is_another_s, register_host_memory, register_too_much, deregister_late};

START_TEST(what_is_wrong_ends_the_process)
{
    wrongs[_i]();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registered");
    TCase *tests = tcase_create("registered");
    tcase_set_timeout(tests, 20);
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, memory_is_registered_until_the_end, 0, 2);
    tcase_add_loop_test_raise_signal(tests, what_is_wrong_ends_the_process, SIGABRT, 0,
                                     MW_COUNT(wrongs));
    return run_suite(suite);
}
