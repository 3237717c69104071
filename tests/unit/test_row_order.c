/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders of rows: every row once in an epoch, permutations that depend on the seed, mixtures by
 * weight. */
#include "runtime/feed/row_order.h"
#include "tests/unit/support.h"

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

static const int64_t counts[] = {1, 2, 3, 4, 5, 7, 16, 17, 63, 64, 65, 100, 257, 1000, 4097};

START_TEST(a_permutation_has_every_number_once)
{
    const int64_t count = counts[_i];
    char *seen = MW_NEW(arena, char, count);
    for (uint64_t stream = 0; stream < 5; stream++) {
        memset(seen, 0, (size_t)count);
        for (int64_t i = 0; i < count; i++) {
            const int64_t image = mw_permute(3, stream, count, i);
            ck_assert(image >= 0 && image < count && !seen[image]);
            seen[image] = 1;
        }
    }
}
END_TEST

/* All 24 permutations of 4 numbers, about as often: chi-square with 23 degrees of freedom is below
 * 49.7 but for one time in a thousand. */
START_TEST(permutations_are_drawn_evenly)
{
    enum { DRAWS = 24000 };
    int seen[256] = {0};
    double chi = 0;
    for (uint64_t stream = 0; stream < DRAWS; stream++) {
        int code = 0;
        for (int64_t i = 0; i < 4; i++)
            code = code * 4 + (int)mw_permute(1, stream, 4, i);
        seen[code]++;
    }
    for (int code = 0; code < 256; code++)
        chi += seen[code] ? (seen[code] - 1000.0) * (seen[code] - 1000.0) / 1000 : 0;
    ck_assert_msg(chi < 49.7, "chi-square %g", chi);
}
END_TEST

/* The numbers are those of 2^40 rows, of which none but those asked for is computed. */
START_TEST(large_permutations_need_no_table)
{
    const int64_t count = (INT64_C(1) << 40) + 12345;
    int64_t last = -1, ascents = 0;
    for (int64_t i = 0; i < 1000; i++) {
        const int64_t image = mw_permute(9, 0, count, i);
        ck_assert(image >= 0 && image < count && image != last);
        ascents += image > last;
        last = image;
    }
    ck_assert(ascents > 400 && ascents < 600);
}
END_TEST

START_TEST(each_epoch_has_an_order_of_its_own)
{
    enum { ROWS = 50 };
    const MwRowPart parts[] = {{30, 0}, {0, 0}, {20, 0}};
    const MwRowOrder plain = mw_row_order(arena, parts, 3, 1, false),
                     shuffled = mw_row_order(arena, parts, 3, 1, true),
                     other = mw_row_order(arena, parts, 3, 2, true);
    int same_epochs = 0, same_seeds = 0, in_order = 0;
    for (int epoch = 0; epoch < 3; epoch++) {
        char seen[ROWS] = {0};
        for (int i = 0; i < ROWS; i++) {
            const int64_t row = mw_row_at(&shuffled, epoch * ROWS + i);
            ck_assert(!seen[row]++);
            ck_assert_int_eq(mw_row_at(&plain, epoch * ROWS + i), i);
            in_order += row == i;
            same_seeds += row == mw_row_at(&other, epoch * ROWS + i);
            same_epochs += epoch > 0 && row == mw_row_at(&shuffled, i);
        }
    }
    ck_assert_int_lt(in_order, 15);
    ck_assert_int_lt(same_seeds, 15);
    ck_assert_int_lt(same_epochs, 15);
}
END_TEST

START_TEST(a_mixture_takes_files_by_weight)
{
    const MwRowPart parts[] = {{100, 7}, {33, 3}, {5, 1e-9}};
    const MwRowOrder order = mw_row_order(arena, parts, 3, 1, _i);
    int64_t taken[138] = {0}, from[3] = {0};
    for (int64_t place = 0; place < 3 * MW_MIXTURE_BLOCK; place++) {
        const int64_t row = mw_row_at(&order, place);
        ck_assert(row >= 0 && row < 138);
        taken[row]++;
        from[row < 100 ? 0 : row < 133 ? 1 : 2]++;
        /* The share of a part is near its weight at any time. */
        if (place == 999)
            ck_assert(from[0] > 640 && from[0] < 760);
    }
    ck_assert_int_eq(from[0], 3 * (int64_t)(0.7 * MW_MIXTURE_BLOCK + 0.5));
    ck_assert_int_eq(from[2], 3); /* the least that a part gets */
    ck_assert_int_eq(from[0] + from[1] + from[2], 3 * MW_MIXTURE_BLOCK);
    /* Within a part every row is taken as often as any other, but for the last epoch. */
    for (int row = 0; row < 133; row++) {
        const int64_t rows = row < 100 ? 100 : 33, all = from[row < 100 ? 0 : 1];
        ck_assert(taken[row] >= all / rows - 1 && taken[row] <= all / rows + 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("row_order");
    TCase *tests = tcase_create("row_order");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, a_permutation_has_every_number_once, 0, MW_COUNT(counts));
    tcase_add_test(tests, permutations_are_drawn_evenly);
    tcase_add_test(tests, large_permutations_need_no_table);
    tcase_add_test(tests, each_epoch_has_an_order_of_its_own);
    tcase_add_loop_test(tests, a_mixture_takes_files_by_weight, 0, 2);
    return run_suite(suite);
}
