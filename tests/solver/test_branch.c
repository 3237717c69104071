/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch and bound, and GLPK, on random cores, against enumeration. */
#include "solver/reduce/reduce.h"
#include "solver/reduce/rules.h"
#include "solver/tree/branch.h"
#include "solver/tree/ilp.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <sys/time.h>
#include <time.h>

static const struct {
    RandomKind kind;
    bool thrifty; /* made so */
    int count;
} groups[] = {
    {{11, 10, 4, 2, 8, true}, true, 300},    {{9, 0, 5, 2, 50, true}, true, 300},
    {{7, 12, 5, 10, 50, true}, false, 500},  {{6, 25, 4, 30, 8, true}, false, 300},
    {{7, 12, 5, 10, 50, false}, false, 300}, {{10, 45, 5, 3, 40, false}, false, 100},
};

enum { ALL_NODES = 100000 };

static const MwProblem *draw_problem(MwArena *arena, int group, int seed)
{
    MwProblem *problem = random_problem(arena, &groups[group].kind, (uint64_t)seed);
    if (groups[group].thrifty)
        make_thrifty(arena, problem, (uint64_t)seed);
    return problem;
}

static MwCore *build(MwArena *arena, const MwProblem *problem)
{
    return mw_core_build(arena, mw_tables_new(arena), problem, true);
}

static MwIncumbent best_below(MwCost cost)
{
    return (MwIncumbent){.cost = cost};
}

/* The choice is one of the core, and costs what is said. */
static void check_choice(const MwCore *core, const MwProblem *problem, const MwIncumbent *best)
{
    MwArena *arena = mw_arena_new();
    int *choice = mw_arena_dup(arena, best->choice, sizeof *choice * (size_t)core->node_count);
    int64_t time;
    ck_assert(mw_core_cost(core, choice) == best->cost);
    mw_core_restore(core, choice);
    ck_assert(mw_problem_allows(problem, choice));
    ck_assert(mw_problem_peak(problem, choice, &time) <= problem->usage_limit);
    ck_assert(mw_problem_cost(problem, choice) << core->scale == best->cost);
    mw_arena_free(&arena);
}

/* From nothing known; reduced before, or not. Gives how many nodes the tree had. */
static int find_best(const MwProblem *problem, Enumerated expected, bool reduced)
{
    MwArena *arena = mw_arena_new();
    MwCore *core = build(arena, problem);
    if (reduced)
        mw_reduce(core, &(MwReduceLimits){.arity = 2, .entries = 1000, .total = INT64_MAX});
    MwIncumbent best = best_below(MW_ABOVE_ANY_COST);
    const MwBranchLimits limits = {.nodes = ALL_NODES, .threads = 1};
    MwBranchAnswer answer = mw_branch(arena, core, &best, &limits);
    ck_assert(answer.complete);
    ck_assert(!best.choice == !expected.possible);
    if (expected.possible) {
        check_choice(core, problem, &best);
        ck_assert(best.cost == expected.cost << core->scale);
        ck_assert(mw_core_unscaled_bound(core, answer.bound) == expected.cost);
    }
    mw_arena_free(&arena);
    return answer.nodes;
}

START_TEST(finds_and_proves_the_best)
{
    int divided = 0;
    for (int seed = 0; seed < tried(groups[_i].count); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = draw_problem(arena, _i, seed);
        Enumerated expected = enumerate(problem);
        divided += find_best(problem, expected, seed % 2) > 1;
        mw_arena_free(&arena);
    }
    ck_assert(!groups[_i].thrifty || divided > tried(groups[_i].count) / 6);
}
END_TEST

/* A cutoff at the least cost leaves nothing; one just above leaves that. */
START_TEST(looks_below_the_cutoff_only)
{
    const MwBranchLimits limits = {.nodes = ALL_NODES, .threads = 1};
    for (int seed = 0; seed < tried(groups[_i].count / 2); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = draw_problem(arena, _i, seed);
        Enumerated expected = enumerate(problem);
        if (expected.possible) {
            MwCore *core = build(arena, problem);
            MwIncumbent at = best_below(mw_core_cutoff(core, expected.cost));
            MwIncumbent above = best_below(mw_core_cutoff(core, expected.cost + 1));
            MwBranchAnswer answer = mw_branch(arena, core, &at, &limits);
            ck_assert(answer.complete && !at.choice);
            ck_assert(mw_core_unscaled_bound(core, answer.bound) == expected.cost);
            answer = mw_branch(arena, core, &above, &limits);
            ck_assert(answer.complete && above.choice);
            check_choice(core, problem, &above);
            ck_assert(above.cost == expected.cost << core->scale);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* What a search that was cut short says is true, and says no less with each node. */
START_TEST(a_part_of_the_tree_gives_a_bound)
{
    int unfinished = 0;
    for (int seed = 0; seed < tried(groups[_i].count / 3); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = draw_problem(arena, _i, seed);
        Enumerated expected = enumerate(problem);
        MwCore *core = build(arena, problem);
        MwCost before = -MW_ABOVE_ANY_COST;
        for (int nodes = 1; nodes < 5; nodes++) {
            MwIncumbent best = best_below(MW_ABOVE_ANY_COST);
            const MwBranchLimits limits = {.nodes = nodes, .threads = 1};
            MwBranchAnswer answer = mw_branch(arena, core, &best, &limits);
            ck_assert_int_le(answer.nodes, nodes);
            MwCost bound = mw_core_unscaled_bound(core, answer.bound);
            ck_assert(bound >= before);
            before = bound;
            unfinished += !answer.complete;
            ck_assert(!answer.complete || !best.choice == !expected.possible);
            if (expected.possible)
                ck_assert(bound <= expected.cost);
            if (best.choice)
                check_choice(core, problem, &best);
        }
        mw_arena_free(&arena);
    }
    ck_assert(!groups[_i].thrifty || unfinished > 0);
}
END_TEST

/* On several threads: the same each time, and as good. */
START_TEST(threads_do_not_change_what_is_found)
{
    for (int seed = 0; seed < tried(groups[_i].count / 4); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = draw_problem(arena, _i, seed);
        MwCore *core = build(arena, problem);
        MwIncumbent best[3];
        MwBranchAnswer answer[3];
        for (int run = 0; run < 3; run++) {
            const MwBranchLimits limits = {.nodes = ALL_NODES, .threads = run < 2 ? 2 : 1};
            best[run] = best_below(MW_ABOVE_ANY_COST);
            answer[run] = mw_branch(arena, core, &best[run], &limits);
        }
        ck_assert_int_eq(answer[0].nodes, answer[1].nodes);
        ck_assert(answer[0].bound == answer[1].bound);
        ck_assert(mw_core_unscaled_bound(core, answer[0].bound) ==
                  mw_core_unscaled_bound(core, answer[2].bound));
        ck_assert(best[0].cost == best[2].cost);
        if (best[0].choice)
            ck_assert_mem_eq(best[0].choice, best[1].choice,
                             sizeof *best[0].choice * (size_t)core->node_count);
        mw_arena_free(&arena);
    }
}
END_TEST

/* With no memory for what is open it goes deep: as good, if not as soon. */
START_TEST(needs_little_memory)
{
    for (int seed = 0; seed < tried(groups[_i].count / 4); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = draw_problem(arena, _i, seed);
        Enumerated expected = enumerate(problem);
        MwCore *core = build(arena, problem);
        const MwBranchLimits limits = {.nodes = ALL_NODES, .threads = 1 + seed % 2, .bytes = 1};
        MwIncumbent best = best_below(MW_ABOVE_ANY_COST);
        MwBranchAnswer answer = mw_branch(arena, core, &best, &limits);
        ck_assert(answer.complete && !best.choice == !expected.possible);
        if (best.choice)
            ck_assert(best.cost == expected.cost << core->scale);
        mw_arena_free(&arena);
    }
}
END_TEST

static bool enough(void *context, MwCost bound, const MwIncumbent *best)
{
    (void)bound, (void)best;
    ++*(int *)context;
    return false;
}

START_TEST(ends_when_asked_to)
{
    int reports = 0;
    for (int seed = 0; seed < 50; seed++) {
        MwArena *arena = mw_arena_new();
        MwCore *core = build(arena, draw_problem(arena, 0, seed));
        MwIncumbent best = best_below(MW_ABOVE_ANY_COST);
        const MwBranchLimits limits = {
            .nodes = ALL_NODES, .threads = 1, .report = enough, .context = &reports};
        ck_assert_int_le(mw_branch(arena, core, &best, &limits).nodes, 1);
        volatile sig_atomic_t interrupt = 1;
        const MwBranchLimits none = {
            .nodes = ALL_NODES, .threads = 1, .stop = {.interrupt = &interrupt}};
        best = best_below(MW_ABOVE_ANY_COST);
        ck_assert_int_eq(mw_branch(arena, core, &best, &none).nodes, 0);
        mw_arena_free(&arena);
    }
    ck_assert_int_eq(reports, 50);
}
END_TEST

/* GLPK, on the same problems: its choice is the best but for tolerances, which are far below a unit
 * of these costs. */
START_TEST(the_integer_program_agrees)
{
    volatile sig_atomic_t interrupt = 1;
    const MwStop never = {0}, now = {.interrupt = &interrupt};
    for (int seed = 0; seed < tried(groups[_i].count / 5); seed++) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = draw_problem(arena, _i, seed);
        Enumerated expected = enumerate(problem);
        MwCore *core = build(arena, problem);
        mw_reduce(core, &(MwReduceLimits){.arity = 1, .entries = 1000, .total = INT64_MAX});
        if (!core->infeasible) {
            MwIlpAnswer answer = mw_ilp_solve(arena, core, &never);
            ck_assert(answer.proven && !answer.choice == !expected.possible);
            if (answer.choice) {
                const MwIncumbent best = {expected.cost << core->scale, answer.choice};
                check_choice(core, problem, &best);
                ck_assert(answer.bound <= best.cost);
            }
            answer = mw_ilp_solve(arena, core, &now);
            ck_assert(!answer.proven && !answer.choice);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* Thousands of nodes that are live for a while each, and hundreds of rows that bind: what uses more
 * costs less. */
static const MwProblem *draw_intervals(MwArena *arena)
{
    enum { NODES = 9000, TIMES = 620, STRATEGIES = 3 };
    uint64_t state = 1;
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    problem->node_count = NODES;
    problem->nodes = MW_NEW(arena, MwProblemNode, NODES);
    problem->usage_limit = 14400000;
    for (int i = 0; i < NODES; i++) {
        int64_t *cost = MW_NEW(arena, int64_t, STRATEGIES),
                *usage = MW_NEW(arena, int64_t, STRATEGIES);
        for (int s = 0; s < STRATEGIES; s++) {
            usage[s] = 13000 * s + draw(&state, 13000);
            cost[s] = 100 * (2 - s) + draw(&state, 100);
        }
        const int64_t begin = draw(&state, TIMES), end = begin + 5 + draw(&state, 115);
        problem->nodes[i] = (MwProblemNode){STRATEGIES, cost, usage, begin, end, NULL};
    }
    return problem;
}

static volatile sig_atomic_t interrupted; /* a handler has no other way to tell */

static void interrupt_now(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* GLPK would go on for a quarter of a minute. It is asked after so much time of the processor, and
 * that is counted, as others may be busy. */
START_TEST(the_integer_program_can_be_interrupted)
{
    static const double after_s = 0.4, patience_s = 4;
    MwArena *arena = mw_arena_new();
    MwCore *core = build(arena, draw_intervals(arena));
    mw_reduce_rows(core);
    ck_assert(core->row_count > 100 && mw_ilp_manageable(core));
    const MwStop stop = {.interrupt = &interrupted};
    const struct itimerval timer = {.it_value = {.tv_usec = (long)(1e6 * after_s)}};
    signal(SIGVTALRM, interrupt_now);
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
    const clock_t before = clock();
    const MwIlpAnswer answer = mw_ilp_solve(arena, core, &stop);
    const double taken_s = (double)(clock() - before) / CLOCKS_PER_SEC;
    ck_assert(interrupted && !answer.proven && taken_s < after_s + patience_s);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_branch");
    TCase *tests = tcase_create("branch");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, finds_and_proves_the_best, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, looks_below_the_cutoff_only, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, a_part_of_the_tree_gives_a_bound, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, threads_do_not_change_what_is_found, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, needs_little_memory, 0, MW_COUNT(groups));
    tcase_add_test(tests, ends_when_asked_to);
    tcase_add_loop_test(tests, the_integer_program_agrees, 0, MW_COUNT(groups));
    tcase_add_test(tests, the_integer_program_can_be_interrupted);
    return run_suite(suite);
}
