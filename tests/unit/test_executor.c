/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The executor on the sample plan: what it computes, what it passes to kernels, what it allocates.
 */
#include "runtime/exec/executor.h"
#include "runtime/exec/transport_solo.h"
#include "runtime/exec/weights.h"
#include "runtime/verify.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support.h"
#include "tests/unit/tested_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static MwArena *arena;

static void setup(void)
{
    arena = mw_arena_new();
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

/* ---- A run on one rank ---- */

static float x_at(int64_t step, int64_t index)
{
    return (float)((index * 7 + step) % 11) / 11 - 0.5f;
}

static float y_at(int64_t step, int64_t index)
{
    return (float)((index * 3 + step) % 5);
}

static bool give_input(void *context, int input, int64_t step, const MwBox *box, void *to,
                       MwFault *fault)
{
    (void)context, (void)fault;
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        for (int64_t i = 0; i < segment.count; i++)
            ((float *)to)[segment.local + i] =
                input ? y_at(step, segment.global + i) : x_at(step, segment.global + i);
    return true;
}

static bool ignore_output(void *context, int output, int64_t step, const MwBox *box, bool is_first,
                          const void *from, MwFault *fault)
{
    (void)context, (void)output, (void)step, (void)box, (void)is_first, (void)from, (void)fault;
    return true;
}

static const MwExecutorData data = {NULL, give_input, ignore_output};

typedef struct {
    MwPlan *plan;
    MwDevice *device;
    MwTransport *transport;
    MwExecutor *executor;
} Sample;

static Sample started(int rank, int ranks, int micros, const MwKernelEntry *kernels)
{
    MwFault fault = {0};
    Sample sample = {.plan = sample_plan(arena, ranks, micros)};
    sample.device = tested_device_new(arena, sample.plan, kernels, &fault);
    sample.transport = mw_transport_solo_new(arena, rank, ranks);
    sample.executor =
        mw_executor_new(arena, sample.plan, sample.device, sample.transport, NULL, &fault);
    ck_assert_msg(sample.executor && mw_executor_start(sample.executor, 9, &fault), "%s",
                  fault.text);
    return sample;
}

static void ended(Sample *sample)
{
    mw_transport_free(&sample->transport, sample->device);
    mw_device_free(&sample->device);
}

/* One step of the sample model in double; gives the loss and moves `w`. */
static double reference_step(int64_t step, double w[SAMPLE_WIDTH])
{
    double loss = 0, gradient[SAMPLE_WIDTH] = {0};
    for (int row = 0; row < SAMPLE_BATCH; row++) {
        double diff = -y_at(step, row);
        for (int i = 0; i < SAMPLE_WIDTH; i++)
            diff += w[i] * x_at(step, row * SAMPLE_WIDTH + i);
        loss += diff * diff / SAMPLE_BATCH;
        for (int i = 0; i < SAMPLE_WIDTH; i++)
            gradient[i] += 2 * diff * x_at(step, row * SAMPLE_WIDTH + i) / SAMPLE_BATCH;
    }
    for (int i = 0; i < SAMPLE_WIDTH; i++)
        w[i] -= 0.1 * gradient[i];
    return loss;
}

START_TEST(steps_are_those_of_the_model)
{
    Sample sample = started(0, 1, 1 << _i, mw_kernel_table);
    float weights[SAMPLE_WIDTH];
    double w[SAMPLE_WIDTH], loss;
    MwFault fault;
    ck_assert(sample.device->table->copy_out(sample.device, weights,
                                             mw_executor_buffer(sample.executor, SAMPLE_W),
                                             sizeof weights, &fault));
    for (int i = 0; i < SAMPLE_WIDTH; i++)
        w[i] = weights[i];
    for (int64_t step = 1; step <= 20; step++) {
        ck_assert(mw_executor_step(sample.executor, step, &data, &loss, &fault));
        double expected = reference_step(step, w);
        ck_assert_msg(fabs(loss - expected) < 1e-5 * expected, "step %lld: %g, not %g",
                      (long long)step, loss, expected);
    }
    ended(&sample);
}
END_TEST

/* As many steps are queued as may be, of which each has inputs of its own. */
START_TEST(steps_that_are_queued_are_those_that_are_waited_for)
{
    const MwExecutorData inputs = {NULL, give_input, NULL};
    Sample sample = started(0, 1, 2, mw_kernel_table), other = started(0, 1, 2, mw_kernel_table);
    double expected, loss;
    MwFault fault;
    int64_t queued = 0;
    mw_executor_set_replay(sample.executor, _i);
    for (int64_t step = 1; step <= 9; step++) {
        for (; mw_executor_queued(sample.executor) < mw_executor_most_queued(sample.executor);
             queued++)
            ck_assert(mw_executor_queue(sample.executor, queued + 1, &inputs, &fault));
        ck_assert(mw_executor_finish(sample.executor, &loss, &fault));
        ck_assert(mw_executor_step(other.executor, step, &data, &expected, &fault));
        ck_assert_msg(loss == expected, "step %lld: %g, not %g", (long long)step, loss, expected);
    }
    ended(&sample);
    ended(&other);
}
END_TEST

/* ---- Graphs ---- */

static bool is_at_rest;
static int captures;
static const MwDeviceTable *plain;

static bool rest(void *context, MwFault *fault)
{
    (void)context, (void)fault;
    return is_at_rest = true;
}

static bool run_call(MwDevice *device, const MwDeviceCall *call, MwFault *fault)
{
    is_at_rest = false;
    return plain->run(device, call, fault);
}

static bool capture(MwDevice *device, int graph, MwFault *fault)
{
    ck_assert(is_at_rest);
    captures++;
    return plain->begin_capture(device, graph, fault);
}

/* The device may block while it makes a graph: what needs other ranks is done before. */
START_TEST(nothing_needs_others_while_a_graph_is_made)
{
    const MwExecutorData inputs = {NULL, give_input, NULL};
    Sample sample = started(0, 1, 2, mw_kernel_table);
    MwDeviceTable table = *sample.device->table;
    double loss;
    MwFault fault;
    plain = sample.device->table;
    table.run = run_call;
    table.begin_capture = plain->begin_capture ? capture : NULL;
    sample.device->table = &table;
    sample.device->quiesce = rest;
    mw_executor_set_replay(sample.executor, true);
    for (int64_t step = 1; step <= 5; step++)
        ck_assert(mw_executor_step(sample.executor, step, &inputs, &loss, &fault));
    ck_assert_int_eq(captures, plain->begin_capture ? MW_STEP_SLOTS : 0);
    sample.device->quiesce = NULL;
    sample.device->table = plain;
    ended(&sample);
}
END_TEST

/* ---- Accumulators ---- */

static int zero_calls;
static int64_t zeroed;
static bool (*zero)(MwDevice *device, void *to, int64_t bytes, MwFault *fault);

static bool count_zeros(MwDevice *device, void *to, int64_t bytes, MwFault *fault)
{
    zero_calls++;
    zeroed += bytes;
    return zero(device, to, bytes, fault);
}

/* The gradient and the loss so far lie next to each other. */
START_TEST(accumulators_are_set_at_once)
{
    Sample sample = started(0, 1, 2, mw_kernel_table);
    MwDeviceTable table = *sample.device->table;
    double loss;
    MwFault fault;
    zero = table.zero;
    table.zero = count_zeros;
    sample.device->table = &table;
    ck_assert(mw_executor_step(sample.executor, 1, &data, &loss, &fault));
    ck_assert_int_eq(zero_calls, 1);
    ck_assert_int_eq(zeroed, 2 * MW_BUFFER_ALIGNMENT);
    ended(&sample);
}
END_TEST

/* Those that do not begin with zeros, or lie elsewhere, by themselves. */
START_TEST(zeros_are_those_of_accumulators)
{
    MwPlanMesh *mesh = &sample_plan(arena, 1, 2)->meshes[0];
    int count;
    MwZeroRange *zeros = mw_weights_zero_ranges(arena, mesh, &count);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(zeros[0].begin, mesh->buffers[SAMPLE_G].offset);
    ck_assert_int_eq(zeros[0].end, mesh->buffers[SAMPLE_LOSS_PART].offset +
                                       mesh->buffers[SAMPLE_LOSS_PART].bytes);
    mesh->buffers[SAMPLE_G].offset += 64 * MW_BUFFER_ALIGNMENT;
    mw_weights_zero_ranges(arena, mesh, &count);
    ck_assert_int_eq(count, 2);
    mesh->weights[1].init = MW_INIT_ONES;
    zeros = mw_weights_zero_ranges(arena, mesh, &count);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(zeros[0].begin, mesh->buffers[SAMPLE_LOSS_PART].offset);
}
END_TEST

/* ---- Arguments ---- */

static int64_t seen[8][3]; /* position, step and seed of each call of diff */
static int calls;

static void spy(void *const *operands, const MwKernelArg *args, int sets, void *stream)
{
    (void)operands, (void)sets, (void)stream;
    for (int i = 0; i < 3; i++)
        seen[calls][i] = args[2 + i].i;
    calls++;
}

static void idle(void *const *operands, const MwKernelArg *args, int sets, void *stream)
{
    (void)operands, (void)args, (void)sets, (void)stream;
}

START_TEST(kernels_get_position_step_and_seed)
{
    static const MwKernelEntry spies[] = {{"diff", spy}, {"descend", idle}, {NULL, NULL}};
    Sample sample = started(1, 2, 2, spies);
    double loss;
    MwFault fault;
    for (int64_t step = 1; step <= 2; step++)
        ck_assert(mw_executor_step(sample.executor, step, &data, &loss, &fault));
    ck_assert_int_eq(calls, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(seen[i][0], 4 + 8 * (i % 2)); /* block 1 of 4 rows; 8 rows a micro-batch */
        ck_assert_int_eq(seen[i][1], 1 + i / 2);
        ck_assert_int_eq(seen[i][2], 9);
    }
    ended(&sample);
}
END_TEST

START_TEST(a_missing_kernel_is_named)
{
    static const MwKernelEntry none[] = {{"diff", spy}, {NULL, NULL}};
    MwFault fault = {0};
    ck_assert_ptr_null(tested_device_new(arena, sample_plan(arena, 1, 1), none, &fault));
    ck_assert_str_eq(fault.text, "the program has no kernel descend");
}
END_TEST

/* ---- Memory ---- */

static int allocations;
static int64_t allocated_bytes;
static void *(*real_alloc)(MwDevice *device, int64_t bytes, MwFault *fault);

static void *counting_alloc(MwDevice *device, int64_t bytes, MwFault *fault)
{
    allocations++;
    allocated_bytes += bytes;
    return real_alloc(device, bytes, fault);
}

START_TEST(the_arena_is_allocated_once_and_nothing_else)
{
    MwFault fault = {0};
    const MwPlan *plan = sample_plan(arena, 1, 2);
    MwDevice *device = tested_device_new(arena, plan, mw_kernel_table, &fault);
    MwDeviceTable table = *device->table;
    real_alloc = table.alloc;
    table.alloc = counting_alloc;
    device->table = &table;
    MwTransport *transport = mw_transport_solo_new(arena, 0, 1);
    MwExecutor *executor = mw_executor_new(arena, plan, device, transport, NULL, &fault);
    size_t before = mw_arena_bytes(arena);
    double loss;
    ck_assert(mw_executor_start(executor, 1, &fault));
    for (int64_t step = 1; step <= 100; step++)
        ck_assert(mw_executor_step(executor, step, &data, &loss, &fault));
    ck_assert_int_eq(allocations, 1);
    ck_assert_int_eq(allocated_bytes, plan->meshes[0].arena_bytes);
    ck_assert_uint_eq(mw_arena_bytes(arena), before);
    mw_transport_free(&transport, device);
    mw_device_free(&device);
}
END_TEST

/* ---- The check device ---- */

static char *verified(const MwPlan *plan, bool *good)
{
    char *said;
    size_t bytes;
    FILE *out = open_memstream(&said, &bytes);
    *good = mw_plan_verify(arena, plan, out);
    fclose(out);
    return said;
}

START_TEST(verification_covers_every_rank)
{
    bool good;
    char *said = verified(sample_plan(arena, 4, 2), &good);
    ck_assert(good);
    ck_assert_ptr_nonnull(strstr(said, "the plan is sound: 4 ranks"));
    free(said);
}
END_TEST

START_TEST(verification_finds_what_an_executor_would_do_wrong)
{
    static const struct {
        int operand;
        const char *message;
    } cases[] = {{SAMPLE_DIFF, "are read before they are written"},
                 {SAMPLE_BUFFERS, "are outside the arena"}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwPlan *plan = sample_plan(arena, 2, 1);
        MwPlanMesh *mesh = &plan->meshes[0];
        bool good;
        if (cases[i].operand == SAMPLE_BUFFERS)
            mesh->buffers[SAMPLE_PRED].offset = mesh->arena_bytes;
        else
            mesh->programs[0].instrs[1].operands[0].buffer = cases[i].operand;
        char *said = verified(plan, &good);
        ck_assert_msg(!good && strstr(said, cases[i].message), "%s", said);
        free(said);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor");
    TCase *tests = tcase_create("executor");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, steps_are_those_of_the_model, 0, 5);
    tcase_add_loop_test(tests, steps_that_are_queued_are_those_that_are_waited_for, 0, 2);
    tcase_add_test(tests, nothing_needs_others_while_a_graph_is_made);
    tcase_add_test(tests, accumulators_are_set_at_once);
    tcase_add_test(tests, zeros_are_those_of_accumulators);
    tcase_add_test(tests, kernels_get_position_step_and_seed);
    tcase_add_test(tests, a_missing_kernel_is_named);
    tcase_add_test(tests, the_arena_is_allocated_once_and_nothing_else);
    tcase_add_test(tests, verification_covers_every_rank);
    tcase_add_test(tests, verification_finds_what_an_executor_would_do_wrong);
    return run_suite(suite);
}
