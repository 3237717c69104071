/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The neighbourhood search on random problems: parts are solved exactly, answers are legal and
 * never worse than before, the best is found nearly always, and all that twice the same. */
#include "solver/driver/search.h"
#include "solver/improve/improve.h"
#include "solver/improve/local_problem.h"
#include "solver/improve/neighbourhood.h"
#include "solver/reduce/reduce.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <math.h>
#include <string.h>

static const RandomKind kinds[] = {
    {9, 14, 5, 10, 50, true},
    {8, 24, 5, 0, 40, true},
    {11, 20, 4, 10, 50, false},
    {7, 9, 5, 30, 1000000000000, true},
};

static bool legal(const MwCore *core, const int *choice)
{
    return mw_core_allows(core, choice) && mw_core_fits(core, choice);
}

/* Some legal choice of the core, at random; false if it is hard to find. */
static bool draw_legal(const MwCore *core, uint64_t *state, int *choice)
{
    for (int tries = 0; tries < 300; tries++) {
        for (int i = 0; i < core->node_count; i++)
            choice[i] = core->nodes[i].cost ? (int)draw(state, core->nodes[i].cost->count) : 0;
        if (legal(core, choice))
            return true;
    }
    return false;
}

static MwCore *build(MwArena *arena, const MwProblem *problem, bool reduced)
{
    MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
    if (reduced)
        mw_reduce(core, &(MwReduceLimits){.arity = 1, .entries = 1000, .total = INT64_MAX});
    return core;
}

/* ---- Parts ---- */

/* The cost of the core with the labels of the local problem. */
static MwCost cost_with_local(const MwCore *core, const MwFlatCore *flat, const int *choice,
                              const MwLocalProblem *local)
{
    MwArena *scratch = mw_arena_new();
    int *changed = mw_arena_dup(scratch, choice, sizeof *choice * (size_t)flat->node_count);
    int *core_choice = MW_NEW(scratch, int, core->node_count);
    for (int i = 0; i < local->node_count; i++)
        changed[local->nodes[i].origin] = local->nodes[i].strategy[local->nodes[i].label];
    mw_flat_choice_to_core(flat, changed, core_choice);
    MwCost cost = mw_core_cost(core, core_choice);
    mw_arena_free(&scratch);
    return cost;
}

/* The least cost of the core with the nodes of the local problem free, by enumeration. */
static MwCost least_of_part(const MwCore *core, const MwFlatCore *flat, const int *choice,
                            int count, const int *nodes)
{
    MwArena *scratch = mw_arena_new();
    int *tried = mw_arena_dup(scratch, choice, sizeof *choice * (size_t)flat->node_count);
    int *core_choice = MW_NEW(scratch, int, core->node_count);
    MwCost least = (MwCost)1 << 120;
    for (int i = 0; i < count; i++)
        tried[nodes[i]] = 0;
    for (int i = 0; i < count;) {
        mw_flat_choice_to_core(flat, tried, core_choice);
        MwCost cost = mw_core_cost(core, core_choice);
        least = cost < least ? cost : least;
        for (i = 0; i < count && ++tried[nodes[i]] == flat->nodes[nodes[i]].strategies; i++)
            tried[nodes[i]] = 0;
    }
    mw_arena_free(&scratch);
    return least;
}

static void check_local_problem(const MwCore *core, int64_t table, uint64_t *state)
{
    MwArena *arena = mw_arena_new();
    const MwFlatCore *flat = mw_flat_core_new(arena, core);
    int *choice = MW_NEW(arena, int, flat->node_count), count = 0;
    int *nodes = MW_NEW(arena, int, flat->node_count);
    int *index_of = MW_NEW(arena, int, flat->node_count);
    for (int i = 0; i < flat->node_count; i++) {
        choice[i] = (int)draw(state, flat->nodes[i].strategies);
        index_of[i] = -1;
        if (draw(state, 5) > 0 && count < 7)
            nodes[count++] = i;
    }
    MwDraws draws = {0};
    const MwLocalRequest request = {.flat = flat,
                                    .choice = choice,
                                    .count = count,
                                    .nodes = nodes,
                                    .index_of = index_of,
                                    .draws = &draws,
                                    .limits = {.table = table, .work = INT64_MAX}};
    MwLocalProblem *local = mw_local_problem_new(arena, &request);
    double *tables = MW_NEW(arena, double, local->entries + MW_LANES);
    mw_local_problem_fill(local, tables);
    double gained =
        mw_local_problem_current_cost(local, tables) - mw_local_problem_solve(local, tables);
    int *core_choice = MW_NEW(arena, int, core->node_count);
    mw_flat_choice_to_core(flat, choice, core_choice);
    MwCost before = mw_core_cost(core, core_choice);
    MwCost after = cost_with_local(core, flat, choice, local);
    double size = fabs((double)before) + fabs((double)after);
    ck_assert_double_le(fabs((double)(before - after) - gained), 1e-9 * size);
    ck_assert_double_ge(gained, -1e-9 * size);
    for (int i = 0; i < flat->node_count; i++)
        ck_assert_int_eq(index_of[i], -1);
    if (local->held_count == 0)
        ck_assert_double_le((double)(after - least_of_part(core, flat, choice, count, nodes)),
                            1e-9 * size);
    else
        ck_assert(table < INT64_MAX);
    mw_arena_free(&arena);
}

START_TEST(parts_are_solved_exactly)
{
    uint64_t state = (uint64_t)_i;
    for (int seed = 0; seed < tried(300); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = random_problem(arena, &kinds[_i], (uint64_t)seed);
        MwCore *core = build(arena, problem, seed % 2);
        if (!core->infeasible)
            check_local_problem(core, seed % 3 ? INT64_MAX : 20, &state);
        mw_arena_free(&arena);
    }
}
END_TEST

/* ---- The search ---- */

typedef struct {
    const MwCore *core;
    MwCost cost;
    int *choice;
} Reported;

static void take_report(void *context, const int *choice)
{
    Reported *reported = context;
    MwCost cost = mw_core_cost(reported->core, choice);
    ck_assert(legal(reported->core, choice));
    ck_assert(cost < reported->cost);
    reported->cost = cost;
    memcpy(reported->choice, choice, sizeof *choice * (size_t)reported->core->node_count);
}

/* Improves `choice`; returns its cost. */
static MwCost improve(const MwCore *core, int threads, uint64_t seed, const double *price,
                      int *choice)
{
    MwArena *arena = mw_arena_new();
    Reported reported = {core, mw_core_cost(core, choice), choice};
    MwImprover *improver = mw_improver_new(arena, core, threads, seed);
    mw_improver_offer(improver, choice);
    mw_improver_set_prices(improver, core, price);
    const MwImproveLimits limits = {
        .perturbations = 3, .report = take_report, .context = &reported};
    mw_improve(improver, &limits);
    mw_improver_free(improver);
    mw_arena_free(&arena);
    return reported.cost;
}

/* Whether the best was found. */
static bool check_search(const MwProblem *problem, const MwCore *core, const int *start,
                         uint64_t *state)
{
    MwArena *arena = mw_arena_new();
    double *price = MW_NEW(arena, double, core->row_count);
    for (int row = 0; row < core->row_count; row++)
        price[row] = ldexp((double)draw(state, 3), core->scale);
    size_t bytes = sizeof *start * (size_t)core->node_count;
    MwCost found[2];
    int *choice[2];
    for (int threads = 1; threads <= 2; threads++) {
        for (int i = 0; i < 2; i++) {
            choice[i] = mw_arena_dup(arena, start, bytes);
            found[i] = improve(core, threads, 5, price, choice[i]);
        }
        ck_assert(found[0] == found[1]);
        ck_assert(memcmp(choice[0], choice[1], bytes) == 0);
    }
    int64_t time;
    MwCost least = enumerate(problem).cost;
    mw_core_restore(core, choice[0]);
    ck_assert(mw_problem_allows(problem, choice[0]));
    ck_assert(mw_problem_peak(problem, choice[0], &time) <= problem->usage_limit);
    MwCost cost = mw_problem_cost(problem, choice[0]);
    ck_assert(cost >= least && found[0] >> core->scale == cost);
    mw_arena_free(&arena);
    return cost == least;
}

START_TEST(choices_become_better)
{
    uint64_t state = (uint64_t)_i;
    int searches = 0, best = 0;
    for (int seed = 0; seed < tried(100); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = random_problem(arena, &kinds[_i], (uint64_t)seed);
        MwCore *core = build(arena, problem, seed % 2);
        int *start = MW_NEW(arena, int, core->node_count);
        if (!core->infeasible && core->scale >= 0 && draw_legal(core, &state, start)) {
            searches++;
            best += check_search(problem, core, start, &state);
        }
        mw_arena_free(&arena);
    }
    printf("# kind %d: best found in %d of %d\n", _i, best, searches);
    ck_assert_int_ge(searches, tried(20));
    /* One search in twenty may miss the best; of fewer than twenty, one. */
    ck_assert_int_le(searches - best, searches < 20 ? 1 : searches / 20);
}
END_TEST

/* Some choice that keeps the rows but takes what is forbidden. */
static bool draw_forbidden(const MwCore *core, uint64_t *state, int *choice)
{
    for (int tries = 0; tries < 100; tries++) {
        for (int i = 0; i < core->node_count; i++)
            choice[i] = core->nodes[i].cost ? (int)draw(state, core->nodes[i].cost->count) : 0;
        if (mw_core_fits(core, choice) && !mw_core_allows(core, choice))
            return true;
    }
    return false;
}

static void note_allowed(void *context, const int *choice)
{
    Reported *reported = context;
    ck_assert(legal(reported->core, choice));
    reported->cost = 0;
}

START_TEST(what_is_forbidden_is_left_behind)
{
    uint64_t state = 0;
    int tried = 0, left = 0;
    for (int seed = 0; seed < 200; seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = random_problem(arena, &kinds[3], (uint64_t)seed);
        MwCore *core = build(arena, problem, false);
        int *start = MW_NEW(arena, int, core->node_count);
        Reported reported = {.core = core, .cost = 1};
        if (draw_forbidden(core, &state, start) && enumerate(problem).possible) {
            MwImprover *improver = mw_improver_new(arena, core, 1, 0);
            mw_improver_start(improver, start);
            const MwImproveLimits limits = {
                .perturbations = 3, .report = note_allowed, .context = &reported};
            mw_improve(improver, &limits);
            mw_improver_free(improver);
            tried++;
            left += reported.cost == 0;
        }
        mw_arena_free(&arena);
    }
    printf("# an allowed choice found in %d of %d\n", left, tried);
    ck_assert_int_ge(tried, 30);
    ck_assert_int_ge(100 * left, 95 * tried);
}
END_TEST

/* Returns the number of rows of the term by which the node weighs on `row`; 0: it has none. */
static int rows_weighed(const MwFlatNode *node, int row)
{
    for (int k = 0; k < node->term_count; k++)
        if (node->terms[k].first <= row && row <= node->terms[k].last)
            return node->terms[k].last - node->terms[k].first + 1;
    return 0;
}

START_TEST(what_weighs_on_a_row_is_found_the_briefest_first)
{
    enum { SIZE = 2 };
    int found = 0, more = 0;
    for (int seed = 0; seed < 200; seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem =
            random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed);
        const MwFlatCore *flat = mw_flat_core_new(arena, build(arena, problem, false));
        for (int row = 0; row < flat->row_count; row++) {
            int nodes[SIZE], longest = 0, weighing = 0;
            const int count = mw_neighbourhood_of_row(flat, row, SIZE, nodes);
            bool *taken = MW_NEW(arena, bool, flat->node_count);
            for (int i = 0; i < count; i++) {
                const int rows = rows_weighed(&flat->nodes[nodes[i]], row);
                ck_assert(rows >= mw_max(longest, 1) && !taken[nodes[i]]);
                taken[nodes[i]] = true;
                longest = rows;
            }
            for (int i = 0; i < flat->node_count; i++) {
                const int rows = rows_weighed(&flat->nodes[i], row);
                weighing += rows > 0;
                ck_assert(rows == 0 || taken[i] || rows >= longest);
            }
            ck_assert_int_eq(count, mw_min(weighing, SIZE));
            found += count;
            more += weighing > SIZE;
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(found, 400);
    ck_assert_int_gt(more, 50);
}
END_TEST

/* So choices found elsewhere come to the core that is searched; here to a copy reduced further. */
START_TEST(what_is_restored_is_entered_again)
{
    int left_out = 0, entered = 0;
    for (int seed = 0; seed < 200; seed++) {
        MwArena *arena = mw_arena_new();
        const RandomKind kind = {9, 14, 5, 10, 100, seed % 2};
        const MwProblem *problem = random_problem(arena, &kind, (uint64_t)seed);
        MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
        mw_reduce(core, &(MwReduceLimits){.arity = 1, .entries = 30, .total = 2});
        MwCore *copy = mw_core_copy(arena, core);
        mw_reduce(copy, &(MwReduceLimits){.arity = 2, .entries = 30, .total = 40});
        uint64_t state = (uint64_t)seed;
        int *choice = MW_NEW(arena, int, core->node_count),
            *other = MW_NEW(arena, int, core->node_count);
        for (int i = 0; i < core->node_count; i++)
            if (copy->nodes[i].cost)
                choice[i] = (int)draw(&state, copy->nodes[i].cost->count);
        memcpy(other, choice, sizeof *choice * (size_t)core->node_count);
        mw_core_restore(copy, other);
        ck_assert(mw_core_reduce_choice(copy, other));
        for (int i = 0; i < core->node_count; i++)
            if (copy->nodes[i].cost) {
                ck_assert_int_eq(other[i], choice[i]);
                entered++;
            }
        for (int i = 0; i < core->node_count; i++)
            other[i] = (int)draw(&state, problem->nodes[i].strategy_count);
        left_out += !mw_core_reduce_choice(copy, other);
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(entered, 100);
    ck_assert_int_gt(left_out, 20);
}
END_TEST

static void count_report(void *context, const int *choice)
{
    (void)choice;
    ++*(int *)context;
}

/* Wherever it comes from: here it is one of the problem. */
START_TEST(what_a_search_takes_is_improved)
{
    int better = 0;
    for (int seed = 0; seed < 60; seed++) {
        MwArena *arena = mw_arena_new();
        uint64_t state = (uint64_t)seed;
        const MwProblem *problem = random_problem(arena, &kinds[1], state);
        MwCore *core = build(arena, problem, true);
        int *choice = MW_NEW(arena, int, core->node_count);
        if (!core->infeasible && draw_legal(core, &state, choice)) {
            MwSolution solution = {0};
            const MwSolveOptions options = {0};
            MwSearch search = {.problem = problem,
                               .arena = arena,
                               .options = &options,
                               .solution = &solution,
                               .improver = mw_improver_new(arena, core, 1, 5)};
            mw_core_restore(core, choice);
            ck_assert(mw_search_offer(&search, choice));
            mw_improve(
                search.improver,
                &(MwImproveLimits){.perturbations = 1, .report = count_report, .context = &better});
            mw_improver_free(search.improver);
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(better, 0); /* an improver that was given none has nothing to tell */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_improve");
    TCase *tests = tcase_create("improve");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, parts_are_solved_exactly, 0, MW_COUNT(kinds));
    tcase_add_loop_test(tests, choices_become_better, 0, MW_COUNT(kinds));
    tcase_add_test(tests, what_weighs_on_a_row_is_found_the_briefest_first);
    tcase_add_test(tests, what_is_restored_is_entered_again);
    tcase_add_test(tests, what_a_search_takes_is_improved);
    tcase_add_test(tests, what_is_forbidden_is_left_behind);
    return run_suite(suite);
}
