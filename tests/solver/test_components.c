/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Components of cores, and problems of several components, against enumeration of each. */
#include "solver/core/components.h"
#include "solver/driver/decompose.h"
#include "solver/driver/solve.h"
#include "solver/reduce/reduce.h"
#include "solver/reduce/rules.h"
#include "solver/tree/branch.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, MANY = 400 / CASE_STRIDE /* problems of a chain */ };

static const struct {
    RandomKind kind;
    bool thrifty;
    int count;
} groups[] = {
    {{8, 6, 4, 2, 8, true}, true, 150},
    {{7, 0, 5, 2, 50, true}, true, 100},
    {{8, 8, 3, 10, 8, true}, true, 100},
    {{6, 9, 4, 25, 50, true}, false, 100},
    {{6, 12, 4, 10, 50, false}, false, 75},
    {{5, 9, 4, 5, MW_COST_INFINITE, true}, true, 75},
    {{5, 9, 4, 10, MW_COST_INFINITE, false}, false, 50},
};

typedef struct {
    MwProblem *problem;
    Enumerated expected;
} Chain;

static MwProblem *draw_part(MwArena *arena, int group, uint64_t seed)
{
    MwProblem *problem = random_problem(arena, &groups[group].kind, seed);
    if (groups[group].thrifty)
        make_thrifty(arena, problem, seed);
    return problem;
}

/* Some parts are equal. What each costs at least is found by enumeration under the chain's
 * limit. */
static Chain make_chain(MwArena *arena, int count, MwProblem *const *parts)
{
    Chain chain = {.problem = random_chain(arena, count, parts), .expected = {.possible = true}};
    for (int i = 0; i < count; i++) {
        MwProblem part = *parts[i];
        part.usage_limit = chain.problem->usage_limit;
        const Enumerated least = enumerate(&part);
        chain.expected.possible &= least.possible;
        chain.expected.cost += least.cost;
    }
    return chain;
}

static Chain draw_chain(MwArena *arena, int group, int seed)
{
    uint64_t state = (uint64_t)(seed * MW_COUNT(groups) + group);
    const int count = 2 + (int)draw(&state, MOST - 1);
    MwProblem *parts[MOST];
    for (int i = 0; i < count; i++)
        parts[i] = i > 0 && draw(&state, 4) == 0
                       ? parts[i - 1]
                       : draw_part(arena, group, (uint64_t)draw(&state, 1 << 20));
    return make_chain(arena, count, parts);
}

/* Draws a chain of many parts, each of which is possible. */
static Chain draw_long_chain(MwArena *arena, int group)
{
    MwProblem *parts[MANY];
    int count = 0;
    for (uint64_t seed = 0; count < MANY; seed++) {
        MwProblem *part = draw_part(arena, group, seed);
        if (enumerate(part).possible)
            parts[count++] = part;
    }
    return make_chain(arena, count, parts);
}

/* ---- Components ---- */

/* Costs from each cost function to its first node, and from nodes to the constant, as cutting by
 * bounds does: they are no longer whole in the problem's units. */
static void move_costs(MwArena *arena, MwCore *core, uint64_t *state)
{
    const MwTable *none[MW_TABLE_ARITY] = {0};
    for (int f = 0; f < core->functions.count; f++) {
        const MwCostFunction *function = &core->functions.at[f];
        if (!function->cost)
            continue;
        const MwTable *table = function->cost, *classes = function->classes[0];
        int64_t *moved = MW_NEW(arena, int64_t, table->dims[0]);
        for (int c = 0; c < table->dims[0]; c++)
            moved[c] = draw(state, 1 << 18);
        int64_t *entry = mw_arena_dup(arena, table->at, sizeof *entry * (size_t)table->count);
        for (int64_t e = 0; e < table->count; e++)
            entry[e] = mw_cost_subtract(entry[e], moved[e / mw_table_inner(table, 0)]);
        int64_t *added = MW_NEW(arena, int64_t, classes->count);
        for (int64_t s = 0; s < classes->count; s++)
            added[s] = moved[classes->at[s]];
        mw_core_add_cost(core, function->scope[0],
                         mw_table_intern(core->tables, 1, classes->dims, added));
        mw_core_replace_function(core, f, none,
                                 mw_table_intern(core->tables, table->arity, table->dims, entry));
    }
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            mw_reduce_forbidden(core, i);
}

/* Reduced for every other seed, and with other costs at times; otherwise it has components of a
 * single node without usage, too. */
static MwCore *build(MwArena *arena, const MwProblem *problem, int seed)
{
    MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
    if (seed % 2)
        mw_reduce(core, &(MwReduceLimits){.arity = 1, .entries = 1000, .total = INT64_MAX});
    if (seed % 4 > 1 && !core->infeasible)
        move_costs(arena, core, &(uint64_t){(uint64_t)seed});
    return core;
}

static bool share_a_row(const MwCore *core, int a, int b)
{
    for (int i = 0; i < core->nodes[a].terms.count; i++)
        for (int k = 0; k < core->nodes[b].terms.count; k++)
            if (core->nodes[a].terms.at[i].first <= core->nodes[b].terms.at[k].last &&
                core->nodes[b].terms.at[k].first <= core->nodes[a].terms.at[i].last)
                return true;
    return false;
}

/* component[node]: the lowest node it hangs together with, found by trying all pairs. */
static void connect(MwArena *arena, const MwCore *core, int *component)
{
    int *neighbours = MW_NEW(arena, int, 2 * core->node_count); /* by cost functions, and by rows */
    bool changed = true;
    for (int i = 0; i < core->node_count; i++)
        component[i] = i;
    while (changed) {
        changed = false;
        for (int a = 0; a < core->node_count; a++) {
            int count =
                core->nodes[a].cost ? mw_core_neighbours(core, a, core->node_count, neighbours) : 0;
            for (int b = 0; b < core->node_count && core->nodes[a].cost; b++)
                if (core->nodes[b].cost && share_a_row(core, a, b))
                    neighbours[count++] = b;
            for (int i = 0; i < count; i++)
                if (component[neighbours[i]] > component[a]) {
                    component[neighbours[i]] = component[a];
                    changed = true;
                }
        }
    }
}

/* All that is left is in one component, with what it hangs together with and nothing else. */
static void check_partition(MwArena *arena, const MwCore *core, const MwComponents *components)
{
    int *component = MW_NEW(arena, int, core->node_count), nodes = 0, functions = 0, left = 0;
    connect(arena, core, component);
    for (int c = 0; c < components->count; c++) {
        const MwComponent *part = &components->at[c];
        ck_assert_int_gt(part->node_count, 0);
        for (int i = 0; i < part->node_count; i++) {
            ck_assert_int_eq(component[part->nodes[i]], part->nodes[0]);
            ck_assert_int_eq(part->node_position[part->nodes[i]], i);
        }
        nodes += part->node_count;
        functions += part->function_count;
    }
    for (int i = 0; i < core->node_count; i++)
        left += core->nodes[i].cost != NULL;
    ck_assert_int_eq(nodes, left);
    for (int i = 0; i < core->functions.count; i++)
        functions -= core->functions.at[i].cost != NULL;
    ck_assert_int_eq(functions, 0);
}

/* A random choice of the core costs what its parts cost, and is legal where they are. */
static void check_choice(MwArena *arena, const MwCore *core, const MwComponents *components,
                         uint64_t *state)
{
    int *choice = MW_NEW(arena, int, core->node_count);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            choice[i] = (int)draw(state, mw_core_strategies(core, i));
    MwCost cost = core->constant;
    bool fits = true, allows = true;
    for (int c = 0; c < components->count; c++) {
        const MwComponent *part = &components->at[c];
        const MwCore *extracted = mw_core_extract_component(arena, core, part);
        int *of_part = MW_NEW(arena, int, part->node_count);
        for (int i = 0; i < part->node_count; i++)
            of_part[i] = choice[part->nodes[i]];
        cost += mw_core_cost(extracted, of_part) - core->constant;
        fits &= mw_core_fits(extracted, of_part);
        allows &= mw_core_allows(extracted, of_part);
    }
    ck_assert(cost == mw_core_cost(core, choice));
    ck_assert(fits == mw_core_fits(core, choice));
    ck_assert(allows == mw_core_allows(core, choice));
}

START_TEST(components_share_nothing)
{
    int divided = 0;
    for (int seed = 0; seed < tried(groups[_i].count); seed++) {
        MwArena *arena = mw_arena_new();
        uint64_t state = (uint64_t)seed;
        MwCore *core = build(arena, draw_chain(arena, _i, seed).problem, seed);
        if (!core->infeasible) {
            const MwComponents components = mw_components(arena, core);
            check_partition(arena, core, &components);
            for (int i = 0; i < 4; i++)
                check_choice(arena, core, &components, &state);
            divided += components.count > 1;
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(divided, tried(groups[_i].count) / 4);
}
END_TEST

/* The same with less slack: another node is live all the time. */
static MwProblem *with_a_guest(MwArena *arena, const MwProblem *problem)
{
    static const int64_t cost[] = {0}, usage[] = {1};
    MwProblem *fuller = mw_arena_dup(arena, problem, sizeof *problem);
    fuller->nodes = MW_NEW(arena, MwProblemNode, problem->node_count + 1);
    for (int i = 0; i < problem->node_count; i++)
        fuller->nodes[i] = problem->nodes[i];
    fuller->nodes[fuller->node_count++] =
        (MwProblemNode){.strategy_count = 1, .cost = cost, .usage = usage, .begin = 0, .end = 4};
    return fuller;
}

static void check_equal(const MwCore *core, const MwComponent *a, const MwComponent *b)
{
    ck_assert_int_eq(a->node_count, b->node_count);
    ck_assert_int_eq(a->function_count, b->function_count);
    ck_assert_int_eq(a->row_count, b->row_count);
    for (int i = 0; i < a->node_count; i++)
        ck_assert_ptr_eq(core->nodes[a->nodes[i]].cost, core->nodes[b->nodes[i]].cost);
    for (int i = 0; i < a->function_count; i++)
        ck_assert_ptr_eq(core->functions.at[a->functions[i]].cost,
                         core->functions.at[b->functions[i]].cost);
    for (int i = 0; i < a->row_count; i++)
        ck_assert(core->limit[a->rows[i]] == core->limit[b->rows[i]]);
}

START_TEST(equal_components_are_told)
{
    int equal = 0;
    for (int seed = 0; seed < tried(100); seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *first = draw_part(arena, 0, (uint64_t)seed);
        MwProblem *list[] = {first, draw_part(arena, 0, (uint64_t)seed + 1),
                             with_a_guest(arena, first), first};
        MwCore *core = build(arena, random_chain(arena, MW_COUNT(list), list), seed);
        if (!core->infeasible) {
            const MwComponents components = mw_components(arena, core);
            for (int c = 0; c < components.count; c++) {
                ck_assert_int_le(components.equal[c], c);
                check_equal(core, &components.at[c], &components.at[components.equal[c]]);
                equal += components.equal[c] != c;
            }
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(equal, tried(100) / 4);
}
END_TEST

/* ---- The steps of the driver ---- */

/* Watches reports: bounds are never above the least cost, costs never below it. */
typedef struct {
    const Chain *chain;
    MwCost bound, cost; /* last reported; cost 0: none */
} Watch;

static void watch(void *context, const MwSolution *so_far, double time_s)
{
    Watch *watching = context;
    const Chain *chain = watching->chain;
    (void)time_s;
    if (chain->expected.possible)
        ck_assert(so_far->lower_bound <= chain->expected.cost);
    ck_assert(so_far->lower_bound >= watching->bound);
    watching->bound = so_far->lower_bound;
    if (!so_far->choice)
        return;
    ck_assert(chain->expected.possible && so_far->cost >= chain->expected.cost);
    ck_assert(mw_problem_cost(chain->problem, so_far->choice) == so_far->cost);
    ck_assert(so_far->lower_bound <= so_far->cost);
    ck_assert(watching->cost == 0 || so_far->cost <= watching->cost);
    watching->cost = so_far->cost;
}

static bool is_rounded(int group)
{
    return groups[group].kind.greatest_cost == MW_COST_INFINITE;
}

static void check(const Chain *chain, const MwSolution *found, bool rounded)
{
    const MwCost expected = chain->expected.cost;
    if (!chain->expected.possible) {
        ck_assert_ptr_null(found->choice);
        return;
    }
    ck_assert(found->choice && found->lower_bound <= expected);
    if (rounded)
        ck_assert(found->cost - found->lower_bound <= found->cost / 1000000000000);
    else
        ck_assert(found->cost == expected && found->lower_bound == expected);
}

/* Solves, and says whether that was in components. */
static bool solve(MwArena *arena, const Chain *chain, MwSolveOptions options, bool looks_ahead,
                  MwSolution *found)
{
    char *text = NULL;
    size_t length = 0;
    Watch watching = {.chain = chain};
    options.report = watch;
    options.context = &watching;
    options.log = open_memstream(&text, &length);
    *found = looks_ahead ? mw_solve(arena, chain->problem, &options)
                         : mw_solve_plain(arena, chain->problem, &options, NULL);
    fclose(options.log);
    bool divided = strstr(text, "component") != NULL;
    free(text);
    return divided;
}

/* Where nobody looks ahead, components are what shows that there is no answer. */
START_TEST(agrees_with_enumeration)
{
    int divided = 0;
    for (int seed = 0; seed < tried(groups[_i].count); seed++) {
        MwArena *arena = mw_arena_new();
        const Chain chain = draw_chain(arena, _i, seed);
        const MwSolveOptions options = {.threads = 1 + seed % 2, .seed = (uint64_t)seed};
        MwSolution found;
        divided += solve(arena, &chain, options, seed % 3, &found);
        check(&chain, &found, is_rounded(_i));
        ck_assert(chain.expected.possible || found.status == MW_SOLVED_INFEASIBLE);
        mw_arena_free(&arena);
    }
    ck_assert(!groups[_i].thrifty || divided > tried(groups[_i].count) / 20);
}
END_TEST

/* The first of some random choices that is legal: a poor one, or none. */
static void guess(MwSearch *search, MwCore *core)
{
    uint64_t state = (uint64_t)core->node_count;
    bool found = false;
    for (int try = 0; try < 50 && !found; try++) {
        int choice[64] = {0};
        for (int i = 0; i < core->node_count; i++)
            choice[i] = core->nodes[i].cost ? (int)draw(&state, mw_core_strategies(core, i)) : 0;
        found = mw_search_offer_core_choice(search, core, choice);
    }
}

static void find_best(MwSearch *search, const MwCore *core, bool says_so)
{
    MwArena *arena = mw_arena_new();
    const MwBranchLimits limits = {.nodes = INT_MAX, .threads = 1};
    MwIncumbent best = {.cost = MW_ABOVE_ANY_COST};
    const MwBranchAnswer answer = mw_branch(arena, core, &best, &limits);
    ck_assert(answer.complete);
    if (best.choice) {
        mw_search_offer_core_choice(search, core, best.choice);
        mw_search_raise_bound(search, core, says_so ? answer.bound : core->constant);
    } else {
        mw_search_exhaust(search);
    }
    mw_arena_free(&arena);
}

static void branch(MwSearch *search, MwCore *core)
{
    find_best(search, core, true);
}

static void branch_silently(MwSearch *search, MwCore *core)
{
    find_best(search, core, false);
}

/* On cores that no look at the whole comes before; with a first step that leaves all to the second
 * one. */
START_TEST(components_make_up_the_whole)
{
    static const MwDriverStep steps[] = {{guess, .skip_if_single = true}, {branch}};
    for (int seed = 0; seed < tried(groups[_i].count); seed++) {
        MwArena *arena = mw_arena_new();
        const Chain chain = draw_chain(arena, _i, seed);
        MwCore *core = build(arena, chain.problem, seed);
        Watch watching = {.chain = &chain};
        MwSolution found = {0};
        const MwSolveOptions options = {.report = watch, .context = &watching};
        MwSearch search = {.problem = chain.problem,
                           .arena = arena,
                           .scratch = arena,
                           .tables = core->tables,
                           .options = &options,
                           .solution = &found};
        if (!core->infeasible && mw_solve_components(&search, core, MW_COUNT(steps), steps)) {
            check(&chain, &found, is_rounded(_i));
            ck_assert(search.impossible == !chain.expected.possible);
            ck_assert(!found.choice || watching.cost == found.cost);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* So many that the whole is not told of each better choice; but of the best ones, proven or not. */
START_TEST(many_components)
{
    static const MwDriverStep step_lists[][2] = {{{guess}, {branch}}, {{guess}, {branch_silently}}};
    for (int i = 0; i < MW_COUNT(step_lists); i++) {
        MwArena *arena = mw_arena_new();
        const Chain chain = draw_long_chain(arena, _i);
        Watch watching = {.chain = &chain};
        MwCore *core = build(arena, chain.problem, 0);
        const MwSolveOptions options = {.report = watch, .context = &watching};
        MwSolution found = {0};
        MwSearch search = {
            .problem = chain.problem, .arena = arena, .options = &options, .solution = &found};
        ck_assert(mw_solve_components(&search, core, MW_COUNT(step_lists[i]), step_lists[i]));
        if (step_lists[i][1].run == branch)
            check(&chain, &found, is_rounded(_i));
        else if (!is_rounded(_i))
            ck_assert(found.cost == chain.expected.cost);
        mw_arena_free(&arena);
    }
}
END_TEST

/* What the steps receive; the search of the whole comes first. */
typedef struct {
    MwSearch search;
    int first, second;       /* calls of the steps */
    double given_s, least_s; /* to the last call of the first, and to any */
} Visits;

static void visit_first(MwSearch *search, MwCore *core)
{
    Visits *visits = (Visits *)search->parent;
    (void)core;
    ck_assert_int_eq(visits->second, 0);
    ck_assert(search->stop.deadline_s <= visits->search.stop.deadline_s + 1e-6);
    visits->first++;
    visits->given_s = mw_stop_left_s(&search->stop);
    visits->least_s = fmin(visits->least_s, visits->given_s);
}

static void visit_second(MwSearch *search, MwCore *core)
{
    Visits *visits = (Visits *)search->parent;
    (void)core;
    visits->second++;
}

/* Each gets a fifth of an equal share at least; the last, all that the others have not used. What
 * is to come early is left out for one alone. */
START_TEST(each_has_its_turn_and_time)
{
    for (int seed = 0; seed < tried(100); seed++) {
        MwArena *arena = mw_arena_new();
        const Chain chain = draw_chain(arena, _i, seed);
        MwCore *core = build(arena, chain.problem, seed);
        const MwComponents components = mw_components(arena, core);
        MwSolution found = {0};
        const MwSolveOptions options = {.time_limit_s = 1000};
        Visits visits = {.search = {.problem = chain.problem,
                                    .arena = arena,
                                    .options = &options,
                                    .stop = mw_stop_of(&options),
                                    .solution = &found},
                         .least_s = INFINITY};
        const MwDriverStep steps[] = {{visit_first, .skip_if_single = seed % 3 == 0},
                                      {visit_second}};
        bool divided = mw_solve_components(&visits.search, core, MW_COUNT(steps), steps);
        ck_assert(divided == (components.count > 1));
        int differ = 0;
        for (int c = 0; c < components.count; c++)
            differ += components.equal[c] == c;
        ck_assert_int_le(visits.first, differ);
        bool left_out = steps[0].skip_if_single && visits.second == 1;
        ck_assert_int_eq(visits.first, left_out ? 0 : visits.second);
        if (visits.first > 0)
            ck_assert(visits.given_s > 999 && visits.least_s > 190.0 / components.count);
        mw_arena_free(&arena);
    }
}
END_TEST

static void branch_but_at_first(MwSearch *search, MwCore *core)
{
    Visits *visits = (Visits *)search->parent;
    if (visits->first++ > 0)
        branch(search, core);
}

/* The first component, which takes no part in the first round, has its turn after the others. */
START_TEST(left_over_time_is_for_what_is_open)
{
    static const MwDriverStep steps[] = {{branch_but_at_first, .repeat = true}};
    int turns = 0, count = groups[_i].count / 2;
    for (int seed = 0; seed < tried(count) || (seed < count && turns == 0); seed++) {
        MwArena *arena = mw_arena_new();
        const Chain chain = draw_chain(arena, _i, seed);
        MwCore *core = build(arena, chain.problem, seed);
        MwSolution found = {0};
        const MwSolveOptions options = {.time_limit_s = 1000 * (seed % 3)};
        Visits visits = {.search = {.problem = chain.problem,
                                    .arena = arena,
                                    .options = &options,
                                    .stop = mw_stop_of(&options),
                                    .solution = &found}};
        bool divided = !core->infeasible && chain.expected.possible &&
                       mw_solve_components(&visits.search, core, MW_COUNT(steps), steps);
        if (divided && visits.first > 3 && options.time_limit_s > 0) {
            check(&chain, &found, is_rounded(_i));
            turns++;
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(turns, 0);
}
END_TEST

static void check_gap(const Chain *chain, const MwSolution *found, double gap, bool rounded)
{
    ck_assert(!found->choice == !chain->expected.possible);
    if (found->choice)
        ck_assert((double)(found->cost - found->lower_bound) <=
                  gap * (double)found->cost + (rounded ? 1e6 : 0));
}

/* The same again, on several threads; and within the gap, unless quickness goes before. */
START_TEST(is_deterministic)
{
    for (int seed = 0; seed < tried(groups[_i].count / 4); seed++) {
        MwArena *arena = mw_arena_new();
        const Chain chain = draw_chain(arena, _i, seed);
        const MwSolveOptions options = {
            .threads = 2, .seed = 7, .gap = seed % 2 ? 0.1 : 0, .quick = seed % 3 == 0};
        MwSolution found[2];
        for (int run = 0; run < 2; run++)
            solve(arena, &chain, options, true, &found[run]);
        if (!options.quick)
            check_gap(&chain, &found[0], options.gap, is_rounded(_i));
        ck_assert(!found[0].choice == !found[1].choice);
        ck_assert(found[0].lower_bound == found[1].lower_bound);
        if (found[0].choice)
            ck_assert_mem_eq(found[0].choice, found[1].choice,
                             sizeof(int) * (size_t)chain.problem->node_count);
        mw_arena_free(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_components");
    TCase *tests = tcase_create("components");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, components_share_nothing, 0, MW_COUNT(groups));
    tcase_add_test(tests, equal_components_are_told);
    tcase_add_loop_test(tests, agrees_with_enumeration, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, components_make_up_the_whole, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, many_components, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, each_has_its_turn_and_time, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, left_over_time_is_for_what_is_open, 0, MW_COUNT(groups));
    tcase_add_loop_test(tests, is_deterministic, 0, MW_COUNT(groups));
    return run_suite(suite);
}
