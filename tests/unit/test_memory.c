/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offsets in the arena: buffers live together never overlap, and little is wasted. */
#include "codegen/plan/memory.h"
#include "tests/unit/support.h"

#include <stdlib.h>

enum { ALIGNMENT = 64, COUNT = 300, TIMES = 400, ROUNDS = 20 };

static void fill_random(MwLifetime *lifetimes, unsigned seed)
{
    srand(seed);
    for (int i = 0; i < COUNT; i++) {
        int begin = rand() % TIMES, length = rand() % 8 ? rand() % 20 : rand() % TIMES;
        int end = begin + length < TIMES ? begin + length : TIMES - 1;
        int64_t bytes = 1 + rand() % (rand() % 4 ? 5000 : 400000);
        lifetimes[i] = (MwLifetime){.bytes = bytes, .begin = begin, .end = end};
    }
}

static void check_no_overlap(const MwLifetime *lifetimes, int count, int64_t arena_bytes)
{
    for (int i = 0; i < count; i++) {
        const MwLifetime *a = &lifetimes[i];
        ck_assert_int_eq(a->offset % ALIGNMENT, 0);
        ck_assert_int_ge(a->offset, 0);
        ck_assert_int_le(a->offset + a->bytes, arena_bytes);
        for (int k = 0; k < i; k++) {
            const MwLifetime *b = &lifetimes[k];
            bool together = a->begin <= b->end && b->begin <= a->end;
            bool apart = a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
            ck_assert_msg(!together || apart, "buffers %d and %d overlap", i, k);
        }
    }
}

START_TEST(random_lifetimes_never_overlap)
{
    MwArena *arena = mw_arena_new();
    MwLifetime lifetimes[COUNT];
    fill_random(lifetimes, (unsigned)_i);
    int64_t bound = mw_memory_lower_bound(arena, lifetimes, COUNT);
    int64_t bytes = mw_memory_assign(arena, lifetimes, COUNT, ALIGNMENT);
    check_no_overlap(lifetimes, COUNT, bytes);
    ck_assert_int_ge(bytes, bound);
    ck_assert_msg((double)bytes <= 1.15 * (double)bound, "%lld for a bound of %lld",
                  (long long)bytes, (long long)bound);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(the_bound_is_reached_where_that_is_easy)
{
    /* A stack: each buffer ends before those under it. */
    MwArena *arena = mw_arena_new();
    MwLifetime lifetimes[10];
    int64_t sum = 0;
    for (int i = 0; i < 10; i++) {
        lifetimes[i] = (MwLifetime){.bytes = ALIGNMENT * (i + 1), .begin = i, .end = 30 - i};
        sum += lifetimes[i].bytes;
    }
    ck_assert_int_eq(mw_memory_lower_bound(arena, lifetimes, 10), sum);
    ck_assert_int_eq(mw_memory_assign(arena, lifetimes, 10, ALIGNMENT), sum);
    check_no_overlap(lifetimes, 10, sum);
    /* A chain: one after another in one place, if their ends do not touch. */
    for (int i = 0; i < 10; i++)
        lifetimes[i] = (MwLifetime){.bytes = 1000, .begin = 2 * i, .end = 2 * i + 1};
    ck_assert_int_eq(mw_memory_lower_bound(arena, lifetimes, 10), 1000);
    ck_assert_int_eq(mw_memory_assign(arena, lifetimes, 10, ALIGNMENT), 1000);
    ck_assert_int_eq(mw_memory_assign(arena, lifetimes, 0, ALIGNMENT), 0);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, random_lifetimes_never_overlap, 0, tried(ROUNDS));
    tcase_add_test(tests, the_bound_is_reached_where_that_is_easy);
    return run_suite(suite);
}
