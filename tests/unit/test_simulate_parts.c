/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the simulator by themselves: the queue of events, the greatest of many draws, runs that
 * fail. */
#include "codegen/simulate/events.h"
#include "codegen/simulate/goodput.h"
#include "codegen/simulate/jitter.h"
#include "tests/unit/support.h"

#include <math.h>

enum { EVENTS = 1000 };

START_TEST(events_come_in_their_order)
{
    MwArena *arena = mw_arena_new();
    MwEvents events = {.arena = arena};
    for (int i = 0; i < EVENTS; i++)
        mw_events_add(&events, (MwEvent){.time_s = i * 389 % 101, .index = i});
    MwEvent before = mw_events_take(&events);
    for (int i = 1; i < EVENTS; i++) {
        const MwEvent event = mw_events_take(&events);
        ck_assert(before.time_s < event.time_s ||
                  (before.time_s == event.time_s && before.index < event.index));
        before = event;
    }
    ck_assert_int_eq(events.heap.count, 0);
    mw_arena_free(&arena);
}
END_TEST

/* The greatest of n draws is at most z with probability P(z)^n. */
START_TEST(the_greatest_draw_has_its_distribution)
{
    for (double count = 1; count <= 1e6; count *= 10)
        for (double u = 0.01; u < 1; u += 0.07) {
            const double z = mw_greatest_normal(u, count);
            ck_assert_double_eq_tol(count * log1p(-erfc(z / sqrt(2)) / 2), log(u), 1e-6);
        }
    ck_assert_double_eq_tol(mw_greatest_normal(0.5, 1), 0, 1e-9);
    ck_assert_double_eq_tol(mw_greatest_normal(0.975, 1), 1.959964, 1e-6);
}
END_TEST

/* ---- Failures ---- */

static MwGoodputOptions run_of(double mtbf_s, double checkpoint_s, double restart_s)
{
    return (MwGoodputOptions){.step_s = 1,
                              .mtbf_s = mtbf_s,
                              .checkpoint_s = checkpoint_s,
                              .restart_s = restart_s,
                              .horizon_s = 2e4 * mtbf_s};
}

START_TEST(long_runs_have_the_expected_goodput)
{
    static const struct {
        double mtbf_s, checkpoint_s, restart_s;
    } cases[] = {{1e4, 30, 300}, {1e5, 60, 600}, {1000, 100, 50}, {200, 150, 10}, {1e4, 1, 0}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        const MwGoodputOptions options =
            run_of(cases[i].mtbf_s, cases[i].checkpoint_s, cases[i].restart_s);
        const MwGoodput run = mw_goodput(&options);
        ck_assert_double_eq_tol(run.goodput, run.expected, 0.03 * run.expected);
        ck_assert_double_eq_tol(run.kept_s + run.checkpoint_s + run.lost_s + run.restart_s,
                                options.horizon_s, 1e-6 * options.horizon_s + 2 * run.every_s);
        ck_assert_double_eq_tol((double)run.failures, 2e4, 1000);
    }
}
END_TEST

/* The captions of figures 3 to 5 of Daly 2006: checkpoints of 5 minutes; all in minutes. */
START_TEST(the_interval_is_that_of_the_paper)
{
    static const struct {
        double mtbf, interval, rounding;
    } cases[] = {{24 * 60, 117, 0.5}, {6 * 60, 57, 0.5}, {15, 9.1, 0.05}};
    for (int i = 0; i < MW_COUNT(cases); i++)
        ck_assert_double_eq_tol(mw_daly_interval_s(5 * 60, cases[i].mtbf * 60) / 60,
                                cases[i].interval, cases[i].rounding);
}
END_TEST

START_TEST(the_interval_is_the_best_one)
{
    MwGoodputOptions options = run_of(1e4, 60, 300);
    const double best_s = mw_daly_interval_s(60, 1e4), best = mw_goodput(&options).expected;
    /* Young's first order, and Daly's correction of it */
    ck_assert_double_eq_tol(best_s, sqrt(2 * 60 * 1e4), 0.06 * best_s);
    ck_assert_double_lt(best_s, sqrt(2 * 60 * 1e4));
    for (int i = 0; i < 2; i++) {
        options.every_s = best_s * (i ? 1.3 : 0.7);
        ck_assert_double_lt(mw_goodput(&options).expected, best);
    }
    ck_assert_double_eq(mw_daly_interval_s(300, 100), 100);
}
END_TEST

START_TEST(a_run_that_does_not_fail_loses_checkpoints_alone)
{
    MwGoodputOptions options = run_of(1e15, 1, 100);
    options.every_s = 9;
    options.horizon_s = 1003;
    const MwGoodput run = mw_goodput(&options);
    ck_assert_int_eq(run.failures, 0);
    ck_assert_int_eq(run.steps, 903); /* 100 times 9, and 3 */
    ck_assert_double_eq_tol(run.checkpoint_s, 100, 1e-9);
}
END_TEST

START_TEST(failures_are_those_of_their_seed)
{
    MwGoodputOptions options = run_of(1e4, 30, 300);
    const MwGoodput first = mw_goodput(&options), again = mw_goodput(&options);
    options.seed = 1;
    const MwGoodput other = mw_goodput(&options);
    ck_assert_int_eq(first.steps, again.steps);
    ck_assert_int_ne(first.steps, other.steps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulate_parts");
    TCase *tests = tcase_create("simulate_parts");
    tcase_add_test(tests, events_come_in_their_order);
    tcase_add_test(tests, the_greatest_draw_has_its_distribution);
    tcase_add_test(tests, long_runs_have_the_expected_goodput);
    tcase_add_test(tests, the_interval_is_that_of_the_paper);
    tcase_add_test(tests, the_interval_is_the_best_one);
    tcase_add_test(tests, a_run_that_does_not_fail_loses_checkpoints_alone);
    tcase_add_test(tests, failures_are_those_of_their_seed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
