/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The targets that a loop of planning goes through, by what it finds for each. */
#include "passes/memory_target.h"

#include "base/base.h"
#include "passes/tuning.h"
#include "tests/unit/support.h"

enum { LIMIT = 10000, EMPTY = 0, MOST = 5 };
#define MARGIN ((int)(MW_TUNED_MEMORY_MARGIN * LIMIT))

typedef struct {
    const char *what;
    int corrections;
    struct {
        int needed;    /* of the outcome; EMPTY: nothing was found */
        int next;      /* the target after it; -1: there is none */
        int estimated; /* of the outcome; 0: not known */
    } steps[MOST];
} Course;

static const Course courses[] = {
    {"falls by the excess", 3, {{10100, 9900}}},
    {"falls below what was estimated", 3, {{10100, 9400, 9500}, {EMPTY, 9450}}},
    {"and from there on by a margin too", 3, {{10100, 9400, 9500}, {10100, 9200 - MARGIN, 9300}}},
    {"an estimate above the target says nothing", 3, {{10100, 9900, 10050}}},
    {"then by a margin too", 3, {{10100, 9900}, {10200, 9700 - MARGIN}}},
    {"nothing for the whole limit", 3, {{EMPTY, -1}}},
    {"rises to halfway", 3, {{11000, 9000}, {EMPTY, 9500}, {EMPTY, 9750}, {EMPTY, -1}}},
    {"falls to no less than halfway to what was too little",
     4,
     {{11000, 9000}, {EMPTY, 9500}, {12000, 9250}}},
    {"as often as allowed", 2, {{10001, 9999}, {10001, 9998 - MARGIN}, {10001, -1}}},
    {"not at all", 0, {{10001, -1}}},
    {"more than twice the limit", 3, {{20000, -1}}},
    {"until the two meet", 9, {{10002, 9998}, {EMPTY, 9999}, {EMPTY, -1}}},
};

START_TEST(takes_its_course)
{
    const Course *course = &courses[_i];
    MwMemoryTarget target = mw_memory_target(LIMIT, course->corrections);
    ck_assert_int_eq(target.target_bytes, LIMIT);
    for (int i = 0; i < MOST && course->steps[i].next; i++) {
        int needed = course->steps[i].needed;
        bool goes_on = needed == EMPTY
                           ? mw_memory_target_empty(&target)
                           : mw_memory_target_exceeded(&target, needed, course->steps[i].estimated);
        ck_assert_msg(goes_on == (course->steps[i].next > 0), "%s: step %d", course->what, i);
        if (goes_on)
            ck_assert_msg(target.target_bytes == course->steps[i].next,
                          "%s: %lld after step %d, not %d", course->what,
                          (long long)target.target_bytes, i, course->steps[i].next);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_target");
    TCase *tests = tcase_create("memory_target");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, takes_its_course, 0, MW_COUNT(courses));
    return run_suite(suite);
}
