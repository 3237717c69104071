/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory rows that go: exactly those that fit or that one left implies, and their prices move
 * on. */
#include "solver/reduce/rules.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <math.h>

/* What the strategy uses in the row. */
static int64_t usage_in(const MwCoreNode *node, int row, int64_t s)
{
    int64_t sum = 0;
    for (int i = 0; i < node->terms.count; i++)
        if (node->terms.at[i].first <= row && row <= node->terms.at[i].last)
            sum += node->terms.at[i].usage->at[s];
    return sum;
}

/* Whether a choice of each node's strategy for itself that keeps row `t` keeps row `r`. */
static bool implied(const MwCore *core, int r, int t)
{
    int64_t excess = 0;
    for (int i = 0; i < core->node_count; i++) {
        const MwCoreNode *node = &core->nodes[i];
        int64_t most = INT64_MIN;
        for (int64_t s = 0; node->cost && s < node->cost->count; s++)
            most = mw_max(most, usage_in(node, r, s) - usage_in(node, t, s));
        excess += node->cost ? most : 0;
    }
    return excess <= core->limit[r] - core->limit[t];
}

static bool fits(const MwCore *core, int row)
{
    int64_t most = 0;
    for (int i = 0; i < core->node_count; i++) {
        const MwCoreNode *node = &core->nodes[i];
        int64_t greatest = 0;
        for (int64_t s = 0; node->cost && s < node->cost->count; s++)
            greatest = mw_max(greatest, usage_in(node, row, s));
        most += greatest;
    }
    return most <= core->limit[row];
}

/* Nodes over a long time, each live once or twice, with a part of their usage that does not depend
 * on the choice, so that limits differ. */
static MwCore *long_core(MwArena *arena, int seed)
{
    static const RandomKind many = {60, 0, 4, 0, 50, true};
    uint64_t state = (uint64_t)seed;
    MwProblem *problem = random_problem(arena, &many, (uint64_t)seed);
    for (int i = 0; i < problem->node_count; i++) {
        MwProblemNode *node = &problem->nodes[i];
        node->begin = draw(&state, 60);
        node->end = node->begin + draw(&state, 30);
        int64_t *usage = MW_NEW(arena, int64_t, node->strategy_count), base = draw(&state, 12);
        for (int s = 0; s < node->strategy_count; s++)
            usage[s] = base + draw(&state, 20);
        node->usage = usage;
    }
    int64_t time;
    int *choice = MW_NEW(arena, int, problem->node_count);
    problem->usage_limit = mw_problem_peak(problem, choice, &time) * 5 / 4;
    MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].terms.count > 0 && draw(&state, 2)) {
            MwCoreTerm again = core->nodes[i].terms.at[0];
            again.first = (int)draw(&state, core->row_count);
            again.last = again.first + (int)draw(&state, core->row_count - again.first);
            mw_vec_push(arena, &core->nodes[i].terms, again);
        }
    for (int i = 0; i < core->node_count; i++) {
        mw_reduce_terms(core, i);
        mw_reduce_usage(core, i);
    }
    return core;
}

static void check_rows(const MwCore *before, const MwCore *after, int seed)
{
    for (int r = 0; r < after->row_count; r++)
        for (int t = 0; t < after->row_count; t++)
            if (r != t && implied(after, r, t))
                ck_abort_msg("seed %d: row %d implies row %d", seed, t, r);
    for (int r = 0, kept = 0; r < before->row_count; r++) {
        bool stays = kept < after->row_count && after->time[kept] == before->time[r];
        kept += stays;
        bool goes = fits(before, r);
        for (int t = 0, k = 0; t < before->row_count && k < after->row_count && !stays; t++)
            if (before->time[t] == after->time[k]) {
                goes |= implied(before, r, t);
                k++;
            }
        if (stays == goes)
            ck_abort_msg("seed %d: row %d of %d", seed, r, before->row_count);
    }
}

START_TEST(rows_go_if_they_fit_or_one_left_implies_them)
{
    int dropped = 0, left = 0;
    for (int seed = 0; seed < 1000; seed++) {
        MwArena *arena = mw_arena_new();
        MwCore *core = long_core(arena, seed);
        MwCore *before = mw_core_copy(arena, core);
        mw_reduce_rows(core);
        if (!core->infeasible)
            check_rows(before, core, seed);
        dropped += before->row_count - core->row_count;
        left += core->infeasible ? 0 : core->row_count;
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(dropped, 1000);
    ck_assert_int_gt(left, 1000);
}
END_TEST

/* The bound that prices make of the node costs alone. */
static double priced_bound(const MwCore *core)
{
    double bound = 0;
    for (int row = 0; row < core->row_count; row++)
        bound -= core->price[row] * (double)core->limit[row];
    for (int i = 0; i < core->node_count; i++) {
        const MwCoreNode *node = &core->nodes[i];
        double least = INFINITY;
        for (int64_t s = 0; s < node->cost->count; s++) {
            double cost = (double)node->cost->at[s];
            for (int row = 0; row < core->row_count; row++)
                cost += core->price[row] * (double)usage_in(node, row, s);
            least = fmin(least, cost);
        }
        bound += least;
    }
    return bound;
}

/* Small integers: exact. */
START_TEST(prices_of_rows_that_go_are_not_lost)
{
    static const RandomKind few = {5, 8, 4, 10, 50, true};
    for (int seed = 0; seed < 2000; seed++) {
        uint64_t state = (uint64_t)seed;
        MwArena *arena = mw_arena_new();
        MwProblem *problem = random_problem(arena, &few, (uint64_t)seed);
        MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
        for (int row = 0; row < core->row_count; row++)
            core->price[row] = (double)(draw(&state, 4) << core->scale);
        double before = priced_bound(core);
        mw_reduce_rows(core);
        ck_assert(core->infeasible || priced_bound(core) >= before);
        mw_arena_free(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_rows");
    TCase *tests = tcase_create("rows");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, rows_go_if_they_fit_or_one_left_implies_them);
    tcase_add_test(tests, prices_of_rows_that_go_are_not_lost);
    return run_suite(suite);
}
