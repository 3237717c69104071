/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cut into buckets against all cuts there are; what may not be in one bucket is not. */
#include "codegen/plan/bucket_cut.h"
#include "tests/unit/support.h"

#include <math.h>
#include <stdlib.h>

enum { ITEMS = 9, ROUNDS = 300 };

typedef struct {
    double ready_s[MW_BUCKET_ITEMS], bytes[MW_BUCKET_ITEMS];
    double latency_s, most_bytes;
} Items;

static double cost_s(const void *context, int begin, int end)
{
    const Items *items = context;
    double bytes = 0;
    for (int i = begin; i < end; i++)
        bytes += items->bytes[i];
    return end - begin > 1 && bytes > items->most_bytes ? INFINITY : items->latency_s + bytes;
}

/* When the last bucket ends. */
static double end_s(const MwBucketProblem *problem, const int *ends, int buckets)
{
    double clock_s = 0;
    for (int b = 0, begin = 0; b < buckets; begin = ends[b++])
        clock_s = fmax(clock_s, problem->ready_s[ends[b] - 1]) +
                  problem->cost_s(problem->context, begin, ends[b]);
    return clock_s;
}

/* The earliest end of all cuts, and the fewest buckets that have it: bit i of `cut` says that item
 * i ends a bucket. */
static double least_s(const MwBucketProblem *problem, int *fewest)
{
    double least = INFINITY;
    for (int cut = 0; cut < 1 << (problem->item_count - 1); cut++) {
        int ends[ITEMS], buckets = 0;
        for (int i = 0; i < problem->item_count; i++)
            if (i == problem->item_count - 1 || cut >> i & 1)
                ends[buckets++] = i + 1;
        const double s = end_s(problem, ends, buckets);
        if (s < least || (s == least && buckets < *fewest))
            *fewest = buckets;
        least = fmin(least, s);
    }
    return least;
}

static void check_cut(const MwBucketProblem *problem, const int *ends, int buckets)
{
    ck_assert_int_ge(buckets, 1);
    for (int b = 0; b < buckets; b++)
        ck_assert_int_gt(ends[b], b ? ends[b - 1] : 0);
    ck_assert_int_eq(ends[buckets - 1], problem->item_count);
}

START_TEST(the_cut_is_the_best_of_all)
{
    Items items = {.most_bytes = _i % 2 ? 12 : INFINITY};
    srand((unsigned)_i);
    const int count = 1 + rand() % ITEMS;
    items.latency_s = rand() % 10;
    for (int i = 0; i < count; i++) {
        items.ready_s[i] = (i ? items.ready_s[i - 1] : 0) + rand() % 8;
        items.bytes[i] = rand() % 8;
    }
    const MwBucketProblem problem = {count, items.ready_s, cost_s, &items};
    int ends[ITEMS], fewest = 0;
    const int buckets = mw_bucket_cut(&problem, ends);
    check_cut(&problem, ends, buckets);
    const double found = end_s(&problem, ends, buckets), least = least_s(&problem, &fewest);
    ck_assert_msg(found == least && buckets == fewest, "%g in %d buckets, not %g in %d", found,
                  buckets, least, fewest);
}
END_TEST

START_TEST(as_many_items_as_there_may_be)
{
    Items items = {.latency_s = 5, .most_bytes = 10};
    for (int i = 0; i < MW_BUCKET_ITEMS; i++) {
        items.ready_s[i] = i;
        items.bytes[i] = 4;
    }
    int ends[MW_BUCKET_ITEMS];
    const MwBucketProblem problem = {MW_BUCKET_ITEMS, items.ready_s, cost_s, &items};
    const int buckets = mw_bucket_cut(&problem, ends);
    check_cut(&problem, ends, buckets);
    ck_assert_int_eq(buckets, MW_BUCKET_ITEMS / 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bucket_cut");
    TCase *tests = tcase_create("bucket_cut");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, the_cut_is_the_best_of_all, 0, ROUNDS);
    tcase_add_test(tests, as_many_items_as_there_may_be);
    return run_suite(suite);
}
