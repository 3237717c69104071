/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU that breaks in a step while the host has not looked yet whether the step before is done:
 * that one has its loss, and the fault is of the step that broke it. On the sample plan. */
#include "runtime/exec/executor.h"
#include "runtime/exec/transport_solo.h"
#include "tests/fake_cuda/fake.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support.h"
#include "tests/unit/tested_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static MwArena *arena;
static MwDevice *device;
static MwTransport *transport;
static MwExecutor *executor;
static MwFault fault;

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *trouble)
{
    (void)context, (void)input, (void)step, (void)trouble;
    memset(to, 0, (size_t)mw_box_held_bytes(box));
    return true;
}

static const MwExecutorData data = {.input = give_input};

/* Two steps are queued, of which the GPU does all that it can. The accumulators are zeroed by one
 * call in each step, and by one each at the start. */
static void setup(void)
{
    setenv("FAKE_CUDA_FAULT", "cudaMemsetAsync:4:async", 1);
    arena = mw_arena_new();
    const MwPlan *plan = sample_plan(arena, 1, 2);
    device = tested_device_new(arena, plan, mw_kernel_table, &fault);
    transport = mw_transport_solo_new(arena, 0, 1);
    executor = mw_executor_new(arena, plan, device, transport, NULL, &fault);
    ck_assert_msg(executor && mw_executor_start(executor, 1, &fault), "%s", fault.text);
    ck_assert(mw_executor_queue(executor, 1, &data, &fault));
    ck_assert(mw_executor_queue(executor, 2, &data, &fault));
    ck_assert(!fake_is_broken());
    while (!fake_is_broken())
        fake_turn(NULL);
}

static void teardown(void)
{
    mw_transport_free(&transport, device);
    mw_device_free(&device);
    mw_arena_free(&arena);
}

static const char says[] = "step 2: device 0: cudaEventSynchronize failed: an illegal memory "
                           "access was encountered";

START_TEST(the_step_before_is_finished)
{
    double loss = NAN;
    ck_assert_msg(mw_executor_finish(executor, &loss, &fault), "%s", fault.text);
    ck_assert(loss == 0);
    ck_assert(!mw_executor_finish(executor, &loss, &fault));
    ck_assert_str_eq(fault.text, says);
}
END_TEST

START_TEST(the_next_step_is_not_begun)
{
    double loss;
    ck_assert_msg(mw_executor_finish(executor, &loss, &fault), "%s", fault.text);
    ck_assert(!mw_executor_queue(executor, 3, &data, &fault));
    ck_assert_str_eq(fault.text, says);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("steps");
    TCase *tests = tcase_create("steps");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_step_before_is_finished);
    tcase_add_test(tests, the_next_step_is_not_begun);
    return run_suite(suite);
}
