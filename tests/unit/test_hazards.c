/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits of several queues, for random operations, against what is ordered by queues and waits
 * alone: all that conflicts is, and no wait can be left out. */
#include "runtime/order/hazards.h"
#include "tests/unit/support.h"

#include <string.h>

enum { MOST_OPS = 48, PROGRAMS = 1000 };

static MwArena *arena;
static uint64_t state;

static int draw(int limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 32) % (uint64_t)limit);
}

static MwHazardOps random_ops(void)
{
    MwHazardOps ops = {0};
    const int count = 1 + draw(MOST_OPS), bytes = 4 + draw(60), few = 1 + draw(6);
    for (int i = 0; i < count; i++) {
        mw_hazard_ops_add(arena, &ops, draw(few) == 0 ? 1 + draw(MW_HAZARD_QUEUES - 1) : 0);
        for (int k = draw(4); k > 0; k--) {
            const int begin = draw(bytes);
            mw_hazard_ops_access(arena, &ops,
                                 (MwByteAccess){begin, begin + 1 + draw(bytes / 4), draw(3) == 0});
        }
    }
    return ops;
}

/* Byte by byte. */
static bool conflict(const MwHazardOps *ops, int a, int b)
{
    char what[2][128] = {{0}};
    const int both[2] = {a, b};
    for (int o = 0; o < 2; o++) {
        const MwHazardOp *op = &ops->ops.at[both[o]];
        for (int r = op->first; r < op->first + op->count; r++)
            for (int64_t at = ops->accesses.at[r].begin; at < ops->accesses.at[r].end; at++)
                what[o][at] |= ops->accesses.at[r].writes ? 2 : 1;
    }
    for (int at = 0; at < 128; at++)
        if (what[0][at] && what[1][at] && (what[0][at] | what[1][at]) & 2)
            return true;
    return false;
}

/* [ops] bits of those that are surely done before it begins; the wait `left_out` does not
 * count, if there is one. */
static void find_done(const MwHazardOps *ops, const MwHazardSync *syncs, const int32_t *left_out,
                      uint64_t done[MOST_OPS])
{
    int last[MW_HAZARD_QUEUES] = {-1, -1, -1}, set_by[MOST_OPS];
    for (int op = 0; op < ops->ops.count; op++) {
        const int queue = ops->ops.at[op].queue;
        done[op] = last[queue] < 0 ? 0 : done[last[queue]] | 1ull << last[queue];
        for (int k = 0; k < MW_HAZARD_WAITS; k++) {
            const int32_t *wait = &syncs[op].wait[k];
            if (*wait >= 0 && wait != left_out)
                done[op] |= done[set_by[*wait]] | 1ull << set_by[*wait];
        }
        if (syncs[op].record >= 0)
            set_by[syncs[op].record] = op;
        last[queue] = op;
    }
}

static bool all_ordered(const MwHazardOps *ops, const uint64_t done[MOST_OPS])
{
    for (int b = 0; b < ops->ops.count; b++)
        for (int a = 0; a < b; a++)
            if (!(done[b] >> a & 1) && conflict(ops, a, b))
                return false;
    return true;
}

START_TEST(all_that_conflicts_is_ordered_by_waits_that_are_all_needed)
{
    uint64_t done[MOST_OPS];
    int waits = 0;
    for (int p = 0; p < PROGRAMS; p++) {
        int events;
        const MwHazardOps ops = random_ops();
        const MwHazardSync *syncs = mw_hazards_find(arena, &ops, &events);
        find_done(&ops, syncs, NULL, done);
        ck_assert_msg(all_ordered(&ops, done), "program %d", p);
        for (int i = 0; i < MW_HAZARD_WAITS * ops.ops.count; i++) {
            const MwHazardSync *sync = &syncs[i / MW_HAZARD_WAITS];
            const int32_t *wait = &sync->wait[i % MW_HAZARD_WAITS];
            ck_assert(sync->record < events && *wait < events);
            if (*wait < 0)
                continue;
            waits++;
            find_done(&ops, syncs, wait, done);
            ck_assert_msg(!all_ordered(&ops, done), "program %d, wait %d", p, i);
        }
    }
    ck_assert_int_gt(waits, PROGRAMS);
}
END_TEST

START_TEST(operations_come_as_soon_as_they_can)
{
    int moved = 0;
    for (int p = 0; p < PROGRAMS; p++) {
        const MwHazardOps ops = random_ops();
        int32_t at[MOST_OPS];
        bool may_move[MOST_OPS];
        for (int i = 0; i < ops.ops.count; i++)
            may_move[i] = draw(3) == 0;
        const int32_t *order = mw_hazards_hoist(arena, &ops, may_move);
        for (int i = 0; i < ops.ops.count; i++)
            at[order[i]] = i;
        for (int b = 0; b < ops.ops.count; b++) {
            int before = at[b] - 1;
            for (int a = 0; a < b; a++)
                ck_assert(at[a] < at[b] || (may_move[b] && !conflict(&ops, a, b)));
            if (!may_move[b])
                continue;
            /* Others that came there and may be behind it just as well. */
            while (before >= 0 && may_move[order[before]] && !conflict(&ops, order[before], b))
                before--;
            ck_assert_msg(before < 0 || conflict(&ops, order[before], b),
                          "program %d, operation %d", p, b);
            moved += at[b] < b;
        }
    }
    ck_assert_int_gt(moved, PROGRAMS);
}
END_TEST

/* One event for each queue that records. */
START_TEST(events_are_reused)
{
    MwHazardOps ops = {0};
    int events;
    for (int i = 0; i < 100; i++) {
        mw_hazard_ops_add(arena, &ops, i % 2);
        mw_hazard_ops_access(arena, &ops, (MwByteAccess){0, 1, true});
    }
    mw_hazards_find(arena, &ops, &events);
    ck_assert_int_eq(events, 2);
}
END_TEST

static void setup(void)
{
    arena = mw_arena_new();
    state = 88172645463325252u;
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

int main(void)
{
    Suite *suite = suite_create("hazards");
    TCase *tests = tcase_create("hazards");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, all_that_conflicts_is_ordered_by_waits_that_are_all_needed);
    tcase_add_test(tests, operations_come_as_soon_as_they_can);
    tcase_add_test(tests, events_are_reused);
    return run_suite(suite);
}
