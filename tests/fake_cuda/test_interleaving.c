/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work of two streams of the fake that no event orders is mixed where FAKE_CUDA_INTERLEAVE asks for
 * it: a kernel or a copy finds a part of what the other stream does meanwhile. With a wait it finds
 * all of it, and a wait that is lost is seen. */
#include "runtime/cuda/combine.h"
#include "tests/fake_cuda/fake.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 4096, BYTES = COUNT * 4, SEEDS = 40 };

typedef enum { BEFORE, MIXED, AFTER, OUTCOMES } Outcome;

typedef struct {
    cudaStream_t reads, writes;
    cudaEvent_t read;
    float *from, *to; /* [COUNT] */
} Streams;

typedef void Read(const Streams *streams);

static void by_kernel(const Streams *streams)
{
    mw_cuda_combine(MW_F32, MW_COMBINE_SUM, streams->from, 1, COUNT, streams->to, streams->reads);
}

static void by_copy(const Streams *streams)
{
    cudaMemcpyAsync(streams->to, streams->from, BYTES, cudaMemcpyDeviceToDevice, streams->reads);
}

static Streams make_streams(void)
{
    Streams streams = {0};
    ck_assert(cudaStreamCreateWithFlags(&streams.reads, cudaStreamNonBlocking) == cudaSuccess &&
              cudaStreamCreateWithFlags(&streams.writes, cudaStreamNonBlocking) == cudaSuccess &&
              cudaEventCreateWithFlags(&streams.read, cudaEventDisableTiming) == cudaSuccess &&
              cudaMalloc((void **)&streams.from, BYTES) == cudaSuccess &&
              cudaMalloc((void **)&streams.to, BYTES) == cudaSuccess);
    return streams;
}

static void free_streams(Streams *streams)
{
    cudaStreamDestroy(streams->reads);
    cudaStreamDestroy(streams->writes);
    cudaEventDestroy(streams->read);
    cudaFree(streams->from);
    cudaFree(streams->to);
}

/* One stream reads ones, which the other sets to zero, after it or not. */
static Outcome read_ones(const Streams *streams, Read *read, bool waits)
{
    int ones = 0;
    for (int i = 0; i < COUNT; i++)
        streams->from[i] = 1;
    read(streams);
    cudaEventRecord(streams->read, streams->reads);
    if (waits)
        cudaStreamWaitEvent(streams->writes, streams->read, 0);
    cudaMemsetAsync(streams->from, 0, BYTES, streams->writes);
    cudaStreamSynchronize(streams->reads);
    cudaStreamSynchronize(streams->writes);
    for (int i = 0; i < COUNT; i++)
        ones += streams->to[i] != 0;
    return ones == COUNT ? BEFORE : ones == 0 ? AFTER : MIXED;
}

static int count_outcome(Read *read, bool waits, Outcome outcome)
{
    int count = 0;
    Streams streams = make_streams();
    by_kernel(&streams); /* loads its code */
    for (int i = 0; i < SEEDS; i++)
        count += read_ones(&streams, read, waits) == outcome;
    free_streams(&streams);
    return count;
}

static Read *const reads[] = {by_kernel, by_copy};

START_TEST(work_is_whole_where_nobody_asks)
{
    setenv("FAKE_CUDA_ORDER", "3", true);
    ck_assert_int_eq(count_outcome(reads[_i], false, MIXED), 0);
}
END_TEST

START_TEST(work_is_mixed_where_nothing_orders_it)
{
    setenv("FAKE_CUDA_INTERLEAVE", "3", true);
    ck_assert_int_gt(count_outcome(reads[_i], false, MIXED), 0);
}
END_TEST

START_TEST(waits_order_it)
{
    setenv("FAKE_CUDA_INTERLEAVE", "3", true);
    setenv("FAKE_CUDA_ORDER", "3", true);
    ck_assert_int_eq(count_outcome(reads[_i], true, BEFORE), SEEDS);
}
END_TEST

/* The i-th wait is the i-th that is lost. */
START_TEST(a_lost_wait_is_seen)
{
    int seen = 0;
    setenv("FAKE_CUDA_INTERLEAVE", "3", true);
    Streams streams = make_streams();
    by_kernel(&streams);
    for (int i = 1; i <= SEEDS; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        setenv("FAKE_CUDA_LOSE_WAIT", number, true);
        seen += read_ones(&streams, reads[_i], true) == MIXED;
    }
    free_streams(&streams);
    ck_assert_int_gt(seen, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interleaving");
    TCase *tests = tcase_create("interleaving");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, work_is_whole_where_nobody_asks, 0, MW_COUNT(reads));
    tcase_add_loop_test(tests, work_is_mixed_where_nothing_orders_it, 0, MW_COUNT(reads));
    tcase_add_loop_test(tests, waits_order_it, 0, MW_COUNT(reads));
    tcase_add_loop_test(tests, a_lost_wait_is_seen, 0, MW_COUNT(reads));
    return run_suite(suite);
}
