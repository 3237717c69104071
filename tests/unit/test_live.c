/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that values take over a step, of a plan whose lifetimes are plain to see. */
#include "runtime/plan/live.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support.h"

static MwArena *arena;

static void setup(void)
{
    arena = mw_arena_new();
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

/* The buffers besides those that persist, as bits. */
enum {
    X = 1 << SAMPLE_X,
    Y = 1 << SAMPLE_Y,
    PRED = 1 << SAMPLE_PRED,
    DIFF = 1 << SAMPLE_DIFF,
    LOSS = 1 << SAMPLE_LOSS
};

static void check_points(const MwPlanMesh *mesh, const int *expected, int count)
{
    const MwPlanLive live = mw_plan_live(arena, mesh);
    ck_assert_int_eq(live.first[mesh->task_count], count);
    for (int p = 0; p < count; p++) {
        int64_t bytes = 0;
        for (int b = 0; b < mesh->buffer_count; b++)
            if (mesh->buffers[b].persistent || expected[p] >> b & 1)
                bytes += mesh->buffers[b].bytes;
        ck_assert_msg(live.bytes[p] == bytes, "point %d: %lld bytes, expected %lld", p,
                      (long long)live.bytes[p], (long long)bytes);
    }
}

/* y is last read by diff; pred is an output of each micro-batch, the loss one of the step. */
START_TEST(values_live_from_their_writer_to_their_last_reader)
{
    static const int expected[] = {X | Y | PRED,
                                   X | Y | PRED | DIFF,
                                   X | PRED | DIFF,
                                   X | Y | PRED,
                                   X | Y | PRED | DIFF,
                                   X | PRED | DIFF,
                                   LOSS,
                                   LOSS,
                                   LOSS};
    check_points(&sample_plan(arena, 1, 2)->meshes[0], expected, MW_COUNT(expected));
}
END_TEST

/* The next run of the loop reads y again; pred and diff it writes before it reads them. */
START_TEST(what_a_loop_reads_first_lives_to_its_end)
{
    static const int expected[] = {
        X | Y | PRED, X | Y | PRED | DIFF, X | Y | PRED | DIFF, LOSS, LOSS, LOSS};
    MwPlanMesh *mesh = &sample_plan(arena, 1, 1)->meshes[0];
    mesh->programs[0].loops[0] = (MwPlanLoop){.first = 0, .count = 3, .runs = 2};
    check_points(mesh, expected, MW_COUNT(expected));
}
END_TEST

/* A task without instructions is a point, at which its inputs are there. */
START_TEST(a_task_without_instructions_is_a_point)
{
    static const int expected[] = {X | Y, LOSS, LOSS, LOSS};
    MwPlanMesh *mesh = &sample_plan(arena, 1, 1)->meshes[0];
    mesh->programs[0].instr_count = mesh->programs[0].loop_count = 0;
    mesh->output_count = 0;
    check_points(mesh, expected, MW_COUNT(expected));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("live");
    TCase *tests = tcase_create("live");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, values_live_from_their_writer_to_their_last_reader);
    tcase_add_test(tests, what_a_loop_reads_first_lives_to_its_end);
    tcase_add_test(tests, a_task_without_instructions_is_a_point);
    return run_suite(suite);
}
