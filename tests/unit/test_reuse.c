/* SPDX-License-Identifier: GPL-3.0-or-later */
/* codegen/plan/reuse.h: what is used again soon comes from a cache. */
#include "codegen/plan/reuse.h"
#include "tests/unit/support.h"

/* Two buffers lie side by side, the third over the second; the last is large. */
enum { A, B, OVER_B, LARGE, BUFFERS };

static const MwPlanBuffer buffers[BUFFERS] = {
    {.name = "a", .offset = 0, .bytes = 1000, .slots = 1},
    {.name = "b", .offset = 1024, .bytes = 2000, .slots = 1},
    {.name = "c", .offset = 1024, .bytes = 500, .slots = 1},
    {.name = "d", .offset = 4096, .bytes = 100000, .slots = 1}};
static const double arena_bytes = 104096;

/* A byte takes as many seconds as bytes were used since then. */
static MwCurvePoint bandwidth[] = {{1, 1}, {1e6, 1e-6}};

static MwCluster machine(int points)
{
    return (MwCluster){.nodes = 1,
                       .devices_per_node = 1,
                       .device = {.bandwidth = {bandwidth, points}, .vector_flops = 1}};
}

typedef struct {
    MwReuse *reuse;
    MwCostModel model;
} Fixture;

/* The seconds of an instruction that reads one buffer and writes another, `bytes` in all. */
static double run(const Fixture *f, int from, int to, double bytes)
{
    MwPlanOperand operands[] = {{from, MW_ACCESS_READ}, {to, MW_ACCESS_WRITE}};
    const MwPlanInstr instr = {.operands = operands, .operand_count = from == to ? 1 : 2};
    return mw_reuse_s(f->reuse, &f->model, &instr, bytes);
}

static void check(double found, double expected)
{
    ck_assert_double_eq_tol(found, expected, 1e-9 * expected);
}

START_TEST(memory_comes_from_as_far_as_was_used_since)
{
    MwArena *arena = mw_arena_new();
    const MwCluster cluster = machine(2);
    const MwMeshShape mesh = {1, {1}};
    const Fixture f = {mw_reuse_new(arena, buffers, BUFFERS, (int64_t)arena_bytes),
                       mw_cost_model(&cluster, &mesh)};
    check(run(&f, A, B, 3000), 3000 * arena_bytes); /* in the step before */
    check(run(&f, A, A, 1000), 1000 * 3000.0);
    /* b was used 4000 bytes ago; what lies over it was, too. */
    check(run(&f, OVER_B, OVER_B, 500), 500 * 4000.0);
    /* A part of b was used 500 bytes ago, and of a, 1500 bytes ago. */
    check(run(&f, A, B, 3000), 1000 * 1500.0 + 2000 * 500.0);
    /* A run of a loop uses 300 bytes of a large buffer. */
    check(run(&f, LARGE, LARGE, 300), 300 * arena_bytes);
    check(run(&f, LARGE, LARGE, 300), 300 * 300.0);
    check(run(&f, A, LARGE, 600), 300 * 3600.0 + 300 * 300.0);
    /* After a loop, all its runs count. */
    const double before = mw_reuse_bytes(f.reuse);
    run(&f, OVER_B, OVER_B, 100);
    mw_reuse_repeat(f.reuse, before, 50);
    check(run(&f, OVER_B, OVER_B, 500), 500 * 5000.0);
    /* No more than there is. */
    for (int i = 0; i < 5; i++)
        run(&f, LARGE, LARGE, 100000);
    check(run(&f, A, A, 1000), 1000 * arena_bytes);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(one_bandwidth_needs_no_distances)
{
    MwArena *arena = mw_arena_new();
    const MwCluster cluster = machine(1);
    const MwMeshShape mesh = {1, {1}};
    const Fixture f = {mw_reuse_new(arena, buffers, BUFFERS, (int64_t)arena_bytes),
                       mw_cost_model(&cluster, &mesh)};
    ck_assert_double_eq(run(&f, A, B, 3000), 0);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reuse");
    TCase *tcase = tcase_create("reuse");
    tcase_add_test(tcase, memory_comes_from_as_far_as_was_used_since);
    tcase_add_test(tcase, one_bandwidth_needs_no_distances);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
