/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages go on while a mesh computes: a transport of which no message is ever done before it is
 * waited for, and a device that computes nothing, note what the executor asks of them. */
#include "base/vec.h"
#include "runtime/cpu/device.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/transport_solo.h"
#include "runtime/plan/traffic.h"
#include "tests/unit/pipeline_plan.h"
#include "tests/unit/support.h"

#include <stdlib.h>

enum { MICRO_BATCHES = 4, STEPS = 2 };

struct MwRequest {
    int transfer;
    bool sends;
    bool is_started;
};

typedef enum { STEP, RUN, START, TEST, WAIT } What;

typedef struct {
    What what;
    const MwRequest *request; /* of messages */
} Note;

static MwArena *arena;
static MwArena *log_arena; /* a step allocates nothing in that of the executor */
static MW_VEC(Note) notes;
static MW_VEC(MwRequest *) all; /* that were initialized */

static void note(What what, const MwRequest *request)
{
    mw_vec_push(log_arena, &notes, ((Note){what, request}));
}

static MwRequest *init_request(MwTransport *transport, MwDevice *device, const MwMessageSet *set,
                               MwFault *fault)
{
    (void)transport, (void)device, (void)fault;
    MwRequest *request = MW_NEW(arena, MwRequest, 1);
    *request = (MwRequest){.transfer = set->tag, .sends = set->sends};
    mw_vec_push(arena, &all, request);
    return request;
}

static bool start(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)transport, (void)device, (void)fault;
    ck_assert(!request->is_started);
    request->is_started = true;
    note(START, request);
    return true;
}

static bool test(MwTransport *transport, MwDevice *device, MwRequest *request, bool *done,
                 MwFault *fault)
{
    (void)transport, (void)device, (void)fault;
    *done = !request->is_started;
    note(TEST, request);
    return true;
}

static bool wait(MwTransport *transport, MwDevice *device, MwRequest *request, MwFault *fault)
{
    (void)transport, (void)device, (void)fault;
    request->is_started = false;
    note(WAIT, request);
    return true;
}

static bool run(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    (void)device, (void)call, (void)fault;
    note(RUN, NULL);
    return true;
}

static bool fill_nothing(void *context, int input, int64_t step, const MwBox *box, void *to,
                         MwFault *fault)
{
    (void)context, (void)input, (void)step, (void)box, (void)to, (void)fault;
    return true;
}

/* Notes two steps of a rank of the plan; each mesh has one. */
static void run_rank(const MwPlan *plan, int rank)
{
    const MwExecutorData data = {.input = fill_nothing};
    MwFault fault = {0};
    double loss;
    MwTransport *transport = mw_transport_solo_new(arena, rank, plan->rank_count);
    MwTransportTable transport_table = *transport->table;
    transport_table.init_request = init_request;
    transport_table.start = start;
    transport_table.test = test;
    transport_table.wait = wait;
    transport->table = &transport_table;
    MwDevice *device = mw_device_cpu_new(arena, plan, mw_kernel_table, 1, &fault);
    MwDeviceTable device_table = *device->table;
    device_table.run = run;
    device->table = &device_table;
    MwExecutor *executor = mw_executor_new(arena, plan, device, transport, NULL, &fault);
    ck_assert_ptr_nonnull(executor);
    ck_assert(mw_executor_start(executor, 1, &fault));
    for (int64_t step = 1; step <= STEPS; step++) {
        note(STEP, NULL);
        ck_assert(mw_executor_step(executor, step, &data, &loss, &fault));
    }
    mw_transport_free(&transport, device);
    mw_device_free(&device);
}

static void set_up(void)
{
    arena = mw_arena_new();
    log_arena = mw_arena_new();
    notes.count = all.count = 0;
    notes.at = NULL, notes.capacity = 0;
    all.at = NULL, all.capacity = 0;
}

static void tear_down(void)
{
    mw_arena_free(&arena);
    mw_arena_free(&log_arena);
}

/* The first thing in a step are the receives of all slots. */
START_TEST(receives_are_posted_before_anything_runs)
{
    const MwPlan *plan = pipeline_plan(arena, 2, 1, MICRO_BATCHES);
    run_rank(plan, 1);
    int steps = 0;
    for (int i = 0; i < notes.count; i++) {
        if (notes.at[i].what != STEP)
            continue;
        int posted = 0;
        for (int k = i + 1; notes.at[k].what == START; k++)
            posted +=
                !notes.at[k].request->sends && notes.at[k].request->transfer == PIPELINE_SEND_H;
        ck_assert_int_eq(posted, plan->meshes[1].buffers[PIPELINE_H].slots);
        steps++;
    }
    ck_assert_int_eq(steps, STEPS);
}
END_TEST

/* Whether a message of this end of the transfer was asked about after note `i` and before the next
 * instruction that runs. */
static bool goes_on(int i, const MwRequest *end)
{
    for (int k = i + 1; k < notes.count && notes.at[k].what != RUN && notes.at[k].what != STEP; k++)
        if ((notes.at[k].what == TEST || notes.at[k].what == WAIT) &&
            notes.at[k].request->transfer == end->transfer &&
            notes.at[k].request->sends == end->sends)
            return true;
    return false;
}

/* All that is under way while an instruction runs goes on after it. Gives how many instructions had
 * a message under way that is sent, or received. */
static int count_overlapped(bool sends)
{
    int count = 0;
    for (int p = 0; p < all.count; p++)
        all.at[p]->is_started = false;
    for (int i = 0; i < notes.count; i++) {
        bool any = false;
        for (int p = 0; p < all.count && notes.at[i].what == RUN; p++) {
            if (!all.at[p]->is_started || all.at[p]->sends != sends)
                continue;
            any = true;
            ck_assert_msg(goes_on(i, all.at[p]), "transfer %d does not go on after note %d",
                          all.at[p]->transfer, i);
        }
        count += any;
        for (int p = 0; p < all.count; p++)
            if (all.at[p] == notes.at[i].request && notes.at[i].what != TEST)
                all.at[p]->is_started = notes.at[i].what == START;
    }
    return count;
}

START_TEST(messages_go_on_between_instructions)
{
    const MwPlan *plan = pipeline_plan(arena, 2, 1, MICRO_BATCHES);
    run_rank(plan, _i);
    ck_assert_int_ge(count_overlapped(true), MICRO_BATCHES);
    ck_assert_int_ge(count_overlapped(false), MICRO_BATCHES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("overlap");
    TCase *tests = tcase_create("overlap");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, receives_are_posted_before_anything_runs);
    tcase_add_loop_test(tests, messages_go_on_between_instructions, 0, 2);
    return run_suite(suite);
}
