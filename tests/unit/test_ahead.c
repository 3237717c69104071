/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data that is read ahead is the data of the step, and its faults are those of the step. */
#include "runtime/feed/ahead.h"
#include "tests/unit/feeds.h"
#include "tests/unit/support.h"

#include <string.h>

enum { MICROS = 2, BOXES = 3 * MICROS, ROWS = 40 };

/* The boxes of a device, of all micro-batches, one input after another. */
static MwInputBox *boxes_of(const MwPlanMesh *mesh, const int coordinate[MW_MAX_AXES])
{
    MwInputBox *boxes = MW_NEW(arena, MwInputBox, BOXES);
    for (int i = 0; i < BOXES; i++) {
        const MwPlanInput *input = &mesh->inputs[i / MICROS];
        boxes[i] = (MwInputBox){i / MICROS, mw_shard_box_of_micro_batch(&input->global, input->spec,
                                                                        &mesh->shape, coordinate,
                                                                        i % MICROS, MICROS)};
    }
    return boxes;
}

/* ROWS rows of tokens, of which row `wrong` has one that the model lacks; -1: none has. */
static MwFeeds *feeds_with(const MwPlanMesh *mesh, int wrong)
{
    uint16_t tokens[ROWS * LENGTH + 1];
    for (int i = 0; i < MW_COUNT(tokens); i++)
        tokens[i] = (uint16_t)(i % 251);
    if (wrong >= 0)
        tokens[wrong * LENGTH + 2] = 999;
    return opened(mesh,
                  mw_arena_printf(arena, "tokens:%s", file_with("t.bin", tokens, sizeof tokens)),
                  "random");
}

static MwAhead *ahead_of(const MwFeeds *feeds, const MwInputBox *boxes)
{
    MwFault fault;
    MwAhead *ahead = mw_ahead_new(arena, feeds, boxes, BOXES, &fault);
    ck_assert_msg(ahead, "%s", fault.text);
    return ahead;
}

/* Asks for all boxes of the step, from box `from` on: they are what the feeds give, or zeros. */
static void check_step(MwAhead *ahead, const MwFeeds *feeds, const MwInputBox *boxes, int64_t step,
                       int from)
{
    for (int i = 0; i < BOXES; i++) {
        const MwInputBox *box = &boxes[(i + from) % BOXES];
        int32_t expected[BATCH * LENGTH] = {0}, found[BATCH * LENGTH] = {0};
        MwFault fault;
        if (!mw_feeds_input(feeds, box->input, step, &box->box, expected, &fault))
            memset(expected, 0, sizeof expected);
        memset(found, 0xff, (size_t)mw_box_held_bytes(&box->box));
        mw_ahead_input(ahead, box->input, step, &box->box, found);
        ck_assert_mem_eq(found, expected, sizeof found);
    }
}

START_TEST(steps_get_their_data)
{
    const MwPlanMesh *mesh = mesh_with((MwMeshShape){1, {2}}, spec_of("[S0, R]"));
    const int coordinate[MW_MAX_AXES] = {1};
    const MwInputBox *boxes = boxes_of(mesh, coordinate);
    MwFeeds *feeds = feeds_with(mesh, -1);
    MwAhead *ahead = ahead_of(feeds, boxes);
    mw_ahead_begin(ahead, 3, 200);
    for (int64_t step = 3; step <= 205; step++) /* the last are not read ahead */
        check_step(ahead, feeds, boxes, step, _i);
    mw_ahead_begin(ahead, 1, 5); /* as the next evaluation does */
    for (int64_t step = 1; step <= 2; step++)
        check_step(ahead, feeds, boxes, step, _i);
    for (int round = 0; round < 100; round++) { /* while it reads */
        mw_ahead_begin(ahead, 1 + round, 1000);
        if (round % 3 == 0)
            check_step(ahead, feeds, boxes, 1 + round, _i);
    }
    mw_ahead_close(&ahead);
    mw_feeds_close(&feeds);
}
END_TEST

/* A batch has 8 rows, so that row 18 is of step 3, and again of step 8. */
static const struct {
    int64_t first; /* step */
    int64_t fails;
    const char *message;
} faults[] = {{1, 3, "step 3: input tokens: "}, {4, 8, "step 8: input tokens: "}};

START_TEST(the_first_fault_is_kept)
{
    const MwPlanMesh *mesh = mesh_of_one();
    const MwInputBox *boxes = boxes_of(mesh, (const int[MW_MAX_AXES]){0});
    MwFeeds *feeds = feeds_with(mesh, 18);
    MwAhead *ahead = ahead_of(feeds, boxes);
    mw_ahead_begin(ahead, faults[_i].first, 9);
    for (int64_t step = faults[_i].first; step <= 9; step++) {
        check_step(ahead, feeds, boxes, step, 0);
        const MwFault *fault = mw_ahead_fault(ahead);
        ck_assert((fault != NULL) == (step >= faults[_i].fails));
        if (fault)
            ck_assert_msg(strstr(fault->text, faults[_i].message) == fault->text, "%s",
                          fault->text);
    }
    mw_ahead_close(&ahead);
    mw_feeds_close(&feeds);
}
END_TEST

/* A part that is none of those known, a mesh without inputs, an end before any step. */
START_TEST(what_is_not_read_ahead_is_read_then)
{
    const MwPlanMesh *mesh = mesh_of_one();
    const MwInputBox *boxes = boxes_of(mesh, (const int[MW_MAX_AXES]){0});
    MwFeeds *feeds = feeds_with(mesh, -1);
    MwFault fault;
    MwAhead *ahead = mw_ahead_new(arena, feeds, NULL, 0, &fault);
    ck_assert(ahead != NULL);
    mw_ahead_begin(ahead, 1, 9);
    for (int64_t step = 1; step <= 9; step++)
        check_step(ahead, feeds, boxes, step, 0);
    mw_ahead_close(&ahead);
    ahead = ahead_of(feeds, boxes);
    mw_ahead_close(&ahead);
    mw_feeds_close(&feeds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ahead");
    TCase *tests = tcase_create("ahead");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, feeds_setup, feeds_teardown);
    tcase_add_loop_test(tests, steps_get_their_data, 0, 3);
    tcase_add_loop_test(tests, the_first_fault_is_kept, 0, MW_COUNT(faults));
    tcase_add_test(tests, what_is_not_read_ahead_is_read_then);
    return run_suite(suite);
}
