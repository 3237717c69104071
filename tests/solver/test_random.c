/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mw_solve against enumeration, on thousands of small problems. */
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

static const struct {
    const char *name;
    RandomKind kind;
    int count;
} groups[] = {
    {"unlimited", {7, 12, 5, 10, 50, false}, 1500},
    {"unlimited, dense", {6, 25, 5, 25, 8, false}, 1000},
    {"unlimited, huge costs", {5, 9, 4, 10, MW_COST_INFINITE, false}, 300},
    {"unlimited, mostly forbidden", {7, 10, 5, 60, 50, false}, 500},
    {"unlimited, larger", {11, 40, 5, 3, 40, false}, 300},
    {"limited, larger", {9, 30, 5, 3, 40, true}, 300},
    {"limited", {7, 12, 5, 10, 50, true}, 1500},
    {"limited, dense", {6, 25, 4, 25, 8, true}, 700},
    {"limited, without edges", {7, 0, 5, 10, 50, true}, 300},
};

/* What is said to be needed is more than the limit, and no more than what is. */
static void check_peak(const MwProblem *problem, const MwSolution *found)
{
    MwProblem changed = *problem;
    changed.usage_limit = MW_USAGE_UNLIMITED;
    if (!enumerate(&changed).possible) {
        ck_assert_int_eq(found->peak_usage, 0);
        return;
    }
    ck_assert_int_gt(found->peak_usage, problem->usage_limit);
    changed.usage_limit = found->peak_usage - 1;
    ck_assert(!enumerate(&changed).possible);
}

/* With `rounded` costs, which do not fit 64 bits together, a tiny gap may stay. */
static void compare(const MwProblem *problem, const char *name, int seed, bool rounded)
{
    MwArena *arena = mw_arena_new();
    Enumerated expected = enumerate(problem);
    MwSolution found = mw_solve(arena, problem, NULL);
    if (!expected.possible) {
        if (found.status != MW_SOLVED_INFEASIBLE || found.choice)
            ck_abort_msg("%s %d: no answer exists, status is %d", name, seed, found.status);
        check_peak(problem, &found);
    } else {
        int64_t time;
        if (!found.choice)
            ck_abort_msg("%s %d: an answer exists, status is %d", name, seed, found.status);
        ck_assert(found.lower_bound <= expected.cost);
        if (rounded) {
            ck_assert(found.cost - found.lower_bound <= found.cost / 1000000000000);
        } else if (found.cost != expected.cost || found.status != MW_SOLVED_OPTIMAL)
            ck_abort_msg("%s %d: cost %lld, least is %lld, status %d", name, seed,
                         (long long)found.cost, (long long)expected.cost, found.status);
        ck_assert(mw_problem_allows(problem, found.choice));
        ck_assert(mw_problem_cost(problem, found.choice) == found.cost);
        ck_assert_int_eq(mw_problem_peak(problem, found.choice, &time), found.peak_usage);
        ck_assert_int_le(found.peak_usage, problem->usage_limit);
    }
    mw_arena_free(&arena);
}

static bool is_rounded(int group)
{
    return groups[group].kind.greatest_cost == MW_COST_INFINITE;
}

START_TEST(agrees_with_enumeration)
{
    for (int seed = 0; seed < tried(groups[_i].count); seed++) {
        MwArena *arena = mw_arena_new();
        compare(random_problem(arena, &groups[_i].kind, (uint64_t)seed), groups[_i].name, seed,
                is_rounded(_i));
        mw_arena_free(&arena);
    }
}
END_TEST

/* A legal answer, and a bound that holds; within the gap, unless quickness goes before. */
START_TEST(stops_early)
{
    enum { QUICK = 1 };
    MwSolveOptions options = {.gap = 0.1, .quick = _i % 2 == QUICK};
    for (int seed = 0; seed < tried(groups[_i / 2].count / 3); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = random_problem(arena, &groups[_i / 2].kind, (uint64_t)seed);
        Enumerated expected = enumerate(problem);
        MwSolution found = mw_solve(arena, problem, &options);
        ck_assert(found.choice || found.status != MW_SOLVED_OPTIMAL);
        ck_assert(!found.choice || expected.possible);
        if (found.choice) {
            ck_assert(found.lower_bound <= expected.cost);
            ck_assert(mw_problem_cost(problem, found.choice) == found.cost);
            ck_assert(found.cost >= expected.cost);
        }
        if (!options.quick && expected.possible)
            ck_assert(found.choice && (double)(found.cost - found.lower_bound) <=
                                          options.gap * (double)found.cost + 1);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Either a bound that says that nothing is cheap enough, or the best choice. */
START_TEST(stops_at_the_cutoff)
{
    for (int seed = 0; seed < tried(groups[_i].count / 3); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = random_problem(arena, &groups[_i].kind, (uint64_t)seed);
        const Enumerated expected = enumerate(problem);
        const MwCost cutoff = expected.cost + seed % 3;
        const MwSolution found = mw_solve(arena, problem, &(MwSolveOptions){.cutoff = cutoff});
        ck_assert(found.status != MW_SOLVED_INFEASIBLE || !expected.possible);
        if (expected.possible && cutoff > expected.cost)
            ck_assert(found.choice && found.cost == expected.cost);
        else if (expected.possible)
            ck_assert(is_rounded(_i) || found.lower_bound == cutoff);
        mw_arena_free(&arena);
    }
}
END_TEST

/* A limit of counted work ends the search at the same place whenever it is run, and soon after it
 * is reached. */
START_TEST(counted_work_ends_at_the_same_place)
{
    enum { NODES = 60, LIMIT = 100000 };
    static const RandomKind kind = {.nodes = NODES,
                                    .edges = 4 * NODES,
                                    .strategies = 8,
                                    .greatest_cost = 1000,
                                    .limited = true};
    int ended = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *problem = random_problem(arena, &kind, seed);
        make_thrifty(arena, problem, seed);
        MwSolveWork work[2] = {{0}};
        MwSolution found[2];
        for (int i = 0; i < 2; i++)
            found[i] = mw_solve(
                arena, problem,
                &(MwSolveOptions){.work = &work[i], .time_limit_s = LIMIT * MW_SECONDS_OF_ENTRY});
        ck_assert(work[0].entries == work[1].entries);
        ck_assert(found[0].cost == found[1].cost && found[0].lower_bound == found[1].lower_bound);
        ck_assert(!found[0].choice == !found[1].choice);
        for (int n = 0; n < problem->node_count && found[0].choice; n++)
            ck_assert_int_eq(found[0].choice[n], found[1].choice[n]);
        ended += work[0].entries > LIMIT;
        ck_assert_int_le(work[0].entries, 40 * LIMIT);
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(ended, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_random");
    TCase *tests = tcase_create("random");
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, agrees_with_enumeration, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, stops_early, 0, 2 * MW_COUNT(groups));
    tcase_add_loop_test(tests, stops_at_the_cutoff, 0, MW_COUNT(groups));
    tcase_add_test(tests, counted_work_ends_at_the_same_place);
    return run_suite(suite);
}
