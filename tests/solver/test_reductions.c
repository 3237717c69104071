/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every reduction by itself, and the bounds, on random cores: each choice that is left costs, and
 * fits, as what it restores to does; the least cost stays; bounds are bounds. */
#include "solver/bound/certify.h"
#include "solver/bound/dual.h"
#include "solver/bound/sweep.h"
#include "solver/reduce/reduce.h"
#include "solver/reduce/rules.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <stdlib.h>

/* ---- All choices of a core ---- */

typedef struct {
    bool possible;
    MwCost cost; /* scaled */
} Least;

static bool advance(const MwCore *core, int *choice)
{
    for (int i = core->node_count - 1; i >= 0; i--) {
        if (!core->nodes[i].cost)
            continue;
        if (++choice[i] < core->nodes[i].cost->count)
            return true;
        choice[i] = 0;
    }
    return false;
}

static bool legal(const MwProblem *problem, const int *choice)
{
    int64_t time;
    return mw_problem_allows(problem, choice) &&
           mw_problem_peak(problem, choice, &time) <= problem->usage_limit;
}

/* Looks at every choice of the core and what it restores to. Gives the least of the legal ones. */
static Least check_all_choices(const MwProblem *problem, const MwCore *core)
{
    Least least = {0};
    int *choice = calloc((size_t)core->node_count, sizeof *choice);
    int *restored = calloc((size_t)core->node_count, sizeof *restored);
    do {
        for (int i = 0; i < core->node_count; i++)
            restored[i] = choice[i];
        mw_core_restore(core, restored);
        MwCost cost = mw_core_cost(core, choice);
        bool allows = mw_core_allows(core, choice) && !core->infeasible;
        bool fits = mw_core_fits(core, choice);
        if (allows && (!mw_problem_allows(problem, restored) ||
                       cost != mw_problem_cost(problem, restored) << core->scale))
            ck_abort_msg("a choice does not cost what it restores to");
        if (allows && fits != legal(problem, restored))
            ck_abort_msg("a choice does not fit as what it restores to");
        if (allows && fits && (!least.possible || cost < least.cost))
            least = (Least){true, cost};
    } while (advance(core, choice));
    free(choice);
    free(restored);
    return least;
}

/* ---- Reductions ---- */

static void each_function(MwCore *core, void (*reduce)(MwCore *, int))
{
    for (int i = 0; i < core->functions.count; i++)
        if (core->functions.at[i].cost)
            reduce(core, i);
}

static void each_node(MwCore *core, void (*reduce)(MwCore *, int))
{
    for (int i = 0; i < core->node_count && !core->infeasible; i++)
        if (core->nodes[i].cost)
            reduce(core, i);
}

static void none(MwCore *core)
{
    (void)core;
}

static void separable(MwCore *core)
{
    each_function(core, mw_reduce_separable);
}

static void forbidden(MwCore *core)
{
    each_node(core, mw_reduce_forbidden);
}

static void dominated(MwCore *core)
{
    each_node(core, mw_reduce_dominated);
}

static void dominated_together(MwCore *core)
{
    each_node(core, mw_reduce_jointly_dominated);
}

static void determined(MwCore *core)
{
    forbidden(core);
    each_node(core, mw_reduce_substitute);
}

/* Nodes with several terms arise from determined ones. */
static void terms(MwCore *core)
{
    determined(core);
    each_node(core, mw_reduce_terms);
}

static void usage(MwCore *core)
{
    each_node(core, mw_reduce_usage);
}

static void rows(MwCore *core)
{
    mw_reduce_rows(core);
}

static void eliminate_one(MwCore *core, int node)
{
    int neighbours[MW_TABLE_ARITY];
    if (core->nodes[node].terms.count > 0)
        return;
    int count = mw_core_neighbours(core, node, MW_TABLE_ARITY, neighbours);
    mw_reduce_eliminate(core, node, count, neighbours);
}

/* In order of index: tables of many nodes arise. */
static void eliminate(MwCore *core)
{
    each_node(core, eliminate_one);
}

static void usage_then_eliminate(MwCore *core)
{
    usage(core);
    rows(core);
    eliminate(core);
}

static void all(MwCore *core)
{
    mw_reduce(core, &(MwReduceLimits){.arity = 3, .entries = 1000, .total = INT64_MAX});
}

static void shrinking(MwCore *core)
{
    mw_reduce(core, &(MwReduceLimits){
                        .arity = 4, .entries = 1000, .total = INT64_MAX, .shrinking = true});
}

/* Stops in the middle, as when time is up. */
static void interrupted(MwCore *core)
{
    mw_reduce(core, &(MwReduceLimits){.arity = 4, .entries = 1000, .total = 20});
}

/* When time is up before it begins: what others rely on is done. */
static void stopped(MwCore *core)
{
    static const volatile sig_atomic_t stop = 1;
    mw_reduce(core,
              &(MwReduceLimits){
                  .arity = 4, .entries = 1000, .total = INT64_MAX, .stop = {.interrupt = &stop}});
    for (int i = 0; i < core->node_count && !core->infeasible; i++)
        ck_assert(core->nodes[i].cost && core->nodes[i].cost->greatest < MW_FORBIDDEN);
    for (int i = 0; i < core->functions.count && !core->infeasible; i++) {
        const MwTable *cost = core->functions.at[i].cost;
        if (cost)
            mw_reduce_separable(core, i);
        ck_assert_ptr_eq(core->functions.at[i].cost, cost);
    }
}

static const struct {
    const char *name;
    void (*apply)(MwCore *core);
} reductions[] = {
    {"none", none},
    {"separable", separable},
    {"forbidden", forbidden},
    {"dominated", dominated},
    {"dominated together", dominated_together},
    {"usage", usage},
    {"rows", rows},
    {"determined", determined},
    {"terms", terms},
    {"eliminate", eliminate},
    {"usage, eliminate", usage_then_eliminate},
    {"all", all},
    {"shrinking", shrinking},
    {"interrupted", interrupted},
    {"stopped", stopped},
};

static const RandomKind kinds[] = {
    {4, 5, 3, 10, 2, false},
    {5, 8, 4, 10, 50, true},
    {5, 8, 4, 40, 50, true},
    {5, 12, 4, 5, 6, false},
};

static MwCore *build(MwArena *arena, const MwProblem *problem)
{
    return mw_core_build(arena, mw_tables_new(arena), problem, true);
}

/* Edges of any shape and direction with the same numbers. */
static void share_costs(MwProblem *problem)
{
    for (int i = 1; i < problem->edge_count; i++) {
        const MwProblemEdge *edge = &problem->edges[i], *first = &problem->edges[0];
        const MwProblemNode *nodes = problem->nodes;
        if (nodes[edge->a].strategy_count * nodes[edge->b].strategy_count <=
            nodes[first->a].strategy_count * nodes[first->b].strategy_count)
            problem->edges[i].cost = first->cost;
    }
}

/* All share one memory of results: what is remembered of one problem must not be wrong for another
 * that only looks alike. */
START_TEST(a_reduction_keeps_the_least_cost)
{
    MwArena *shared = mw_arena_new();
    MwTables *tables = mw_tables_new(shared);
    for (int seed = 0; seed < tried(400); seed++)
        for (int kind = 0; kind < MW_COUNT(kinds); kind++) {
            MwArena *arena = mw_arena_new();
            MwProblem *problem = random_problem(arena, &kinds[kind], (uint64_t)seed);
            if (seed % 4 == 0)
                share_costs(problem);
            MwCore *core = mw_core_build(arena, tables, problem, true);
            reductions[_i].apply(core);
            Least least = check_all_choices(problem, core);
            Enumerated expected = enumerate(problem);
            if (least.possible != expected.possible ||
                (least.possible && least.cost != expected.cost << core->scale))
                ck_abort_msg("%s, kind %d, seed %d: the least cost changes", reductions[_i].name,
                             kind, seed);
            mw_arena_free(&arena);
        }
    mw_arena_free(&shared);
}
END_TEST

enum { ALIKE_NODES = 5 };

/* Matrices that are one 2 by 2 matrix after merging equal rows and columns, at different nodes and
 * in different orders: what is remembered must tell them apart. */
static MwProblem *alike_problem(MwArena *arena, uint64_t seed)
{
    enum { NODES = ALIKE_NODES, EDGES = 6, STRATEGIES = 3 };
    static const int64_t base[2][2] = {{0, 5}, {7, 1}},
                         cost[2][STRATEGIES] = {{0, 0, 0}, {3, 0, 4}};
    uint64_t state = seed;
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    *problem = (MwProblem){.node_count = NODES,
                           .edge_count = EDGES,
                           .nodes = MW_NEW(arena, MwProblemNode, NODES),
                           .edges = MW_NEW(arena, MwProblemEdge, EDGES),
                           .usage_limit = MW_USAGE_UNLIMITED};
    for (int i = 0; i < NODES; i++)
        problem->nodes[i] =
            (MwProblemNode){.strategy_count = STRATEGIES, .cost = cost[draw(&state, 2)]};
    for (int i = 0; i < EDGES; i++) {
        int a = (int)draw(&state, NODES), b = (int)((a + 1 + draw(&state, NODES - 1)) % NODES);
        int64_t row[STRATEGIES], column[STRATEGIES];
        int64_t *entries = MW_NEW(arena, int64_t, STRATEGIES * STRATEGIES);
        for (int s = 0; s < STRATEGIES; s++) {
            row[s] = draw(&state, 2);
            column[s] = draw(&state, 2);
        }
        for (int s = 0; s < STRATEGIES * STRATEGIES; s++)
            entries[s] = base[row[s / STRATEGIES]][column[s % STRATEGIES]];
        problem->edges[i] = (MwProblemEdge){a, b, entries};
    }
    return problem;
}

START_TEST(what_looks_alike_is_told_apart)
{
    MwArena *shared = mw_arena_new();
    MwTables *tables = mw_tables_new(shared);
    for (int seed = 0; seed < tried(2000); seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *problem = alike_problem(arena, (uint64_t)seed);
        MwCore *core = mw_core_build(arena, tables, problem, true);
        separable(core);
        if (_i == 0)
            for (int i = 0; i < ALIKE_NODES; i++)
                eliminate_one(core, (i * (1 + seed % 4) + seed) % ALIKE_NODES);
        else
            dominated(core);
        Least least = check_all_choices(problem, core);
        if (least.cost != enumerate(problem).cost << core->scale)
            ck_abort_msg("seed %d: the least cost changes", seed);
        mw_arena_free(&arena);
    }
    mw_arena_free(&shared);
}
END_TEST

/* The last strategy of the first node is as good as none of the others alone, nor as both of them
 * if the first of these uses `usage`; they are better where the other node is. */
START_TEST(several_dominate_together)
{
    MwArena *arena = mw_arena_new();
    static const int64_t zero[3], usage[][3] = {{1, 1, 1}, {2, 1, 1}};
    MwProblemNode nodes[] = {{3, zero, usage[_i], 0, 1}, {2, zero, usage[0], 0, 1}};
    MwProblemEdge edge = {0, 1, (int64_t[]){0, 9, 9, 0, 1, 1}};
    MwProblem problem = {
        .node_count = 2, .edge_count = 1, .nodes = nodes, .edges = &edge, .usage_limit = 3};
    MwCore *core = build(arena, &problem);
    dominated(core);
    ck_assert_int_eq(mw_core_strategies(core, 0), 3);
    dominated_together(core);
    ck_assert_int_eq(mw_core_strategies(core, 0), _i == 0 ? 2 : 3);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(a_copy_restores_through_its_origin)
{
    for (int seed = 0; seed < tried(400); seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *problem = random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed);
        MwCore *core = build(arena, problem);
        usage(core);
        forbidden(core);
        MwCore *copy = mw_core_copy(arena, core);
        if (!core->infeasible) {
            all(copy);
            dominated(core);
        }
        check_all_choices(problem, copy);
        check_all_choices(problem, core);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Reduced by itself and moved out of where that was done. */
START_TEST(a_moved_copy_needs_only_its_origin)
{
    for (int seed = 0; seed < tried(400); seed++) {
        MwArena *arena = mw_arena_new(), *other = mw_arena_new();
        MwProblem *problem = random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed);
        MwCore *core = build(arena, problem);
        usage(core);
        forbidden(core);
        if (!core->infeasible) {
            MwCore *copy = mw_core_copy_independent(other, core);
            ck_assert_ptr_ne(copy->tables, core->tables);
            shrinking(copy);
            MwCore *moved = mw_core_move(arena, copy);
            mw_arena_free(&other);
            Least least = check_all_choices(problem, moved);
            Enumerated expected = enumerate(problem);
            ck_assert(least.possible == expected.possible);
            ck_assert(!least.possible || least.cost == expected.cost << core->scale);
        }
        mw_arena_free(&other);
        mw_arena_free(&arena);
    }
}
END_TEST

/* Whatever is left of an extracted core restores to a choice of the core that costs the same. */
START_TEST(what_is_extracted_costs_the_same)
{
    for (int seed = 0; seed < tried(400); seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *problem = random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed);
        MwCore *core = build(arena, problem);
        mw_reduce(core, &(MwReduceLimits){.arity = 1, .entries = 1000, .total = INT64_MAX});
        const int *nodes;
        MwCore *extracted = mw_core_extract(arena, core, &nodes);
        int *choice = MW_NEW(arena, int, core->node_count);
        int *restored = MW_NEW(arena, int, core->node_count);
        int *spread = MW_NEW(arena, int, core->node_count);
        if (!core->infeasible)
            dominated(extracted);
        do {
            for (int i = 0; i < extracted->node_count; i++)
                restored[i] = choice[i];
            mw_core_restore(extracted, restored);
            for (int i = 0; i < extracted->node_count; i++)
                spread[nodes[i]] = restored[i];
            ck_assert(mw_core_cost(extracted, choice) == mw_core_cost(core, spread));
            ck_assert(mw_core_allows(extracted, choice) == mw_core_allows(core, spread));
            ck_assert(mw_core_fits(extracted, choice) == mw_core_fits(core, spread));
        } while (advance(extracted, choice));
        mw_arena_free(&arena);
    }
}
END_TEST

/* ---- Bounds ---- */

/* A dual after some sweeps at prices out of the air. NULL if nothing is left to do. */
static MwDual *random_dual(MwArena *arena, MwCore *core, int seed)
{
    uint64_t state = (uint64_t)seed;
    mw_reduce(core, &(MwReduceLimits){.arity = 0, .entries = 1000, .total = INT64_MAX});
    if (core->infeasible)
        return NULL;
    double *price = MW_NEW(arena, double, core->row_count);
    for (int row = 0; row < core->row_count; row++)
        price[row] = (double)draw(&state, 4) * (double)draw(&state, 1 << 17);
    MwDual *dual = mw_dual_new(arena, core, price);
    for (int i = (int)draw(&state, 6); i > 0; i--)
        mw_dual_sweep(dual, i % 2);
    return dual;
}

START_TEST(a_certified_bound_is_one)
{
    for (int seed = 0; seed < 1500; seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *problem = random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed);
        MwCore *core = build(arena, problem);
        MwDual *dual = random_dual(arena, core, seed);
        Enumerated expected = enumerate(problem);
        if (dual && expected.possible) {
            MwCost bound = mw_dual_certify(dual);
            ck_assert(bound <= expected.cost << core->scale);
            ck_assert(mw_core_unscaled_bound(core, bound) <= expected.cost);
            ck_assert_double_eq_tol((double)bound, mw_dual_bound(dual),
                                    1e-9 * (double)(expected.cost << core->scale) + 100);
        }
        mw_arena_free(&arena);
    }
}
END_TEST

START_TEST(a_state_is_loaded_as_it_was_saved)
{
    for (int seed = 0; seed < 300; seed++) {
        MwArena *arena = mw_arena_new();
        MwCore *core =
            build(arena, random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed));
        MwDual *dual = random_dual(arena, core, seed);
        if (dual) {
            MwDualState *state = mw_dual_new_state(arena, dual);
            double *price = MW_NEW(arena, double, core->row_count);
            double bound = mw_dual_bound(dual);
            mw_dual_save(dual, state);
            mw_dual_sweep(dual, true);
            mw_dual_set_prices(dual, price);
            mw_dual_load(dual, state);
            ck_assert_double_eq_tol(mw_dual_bound(dual), bound, 1e-6 * (1 + bound));
        }
        mw_arena_free(&arena);
    }
}
END_TEST

/* With the cutoff above the least cost, that stays; at the least cost, nothing better appears. */
START_TEST(cutting_keeps_what_is_below_the_cutoff)
{
    int cut = 0;
    for (int seed = 0; seed < 1500; seed++) {
        MwArena *arena = mw_arena_new();
        MwProblem *problem = random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed);
        MwCore *core = build(arena, problem);
        MwDual *dual = random_dual(arena, core, seed);
        Enumerated expected = enumerate(problem);
        if (dual && expected.possible) {
            mw_dual_apply(dual, core, mw_core_cutoff(core, expected.cost + _i));
            Least least = check_all_choices(problem, core);
            if (_i > 0)
                ck_assert(least.possible && least.cost == expected.cost << core->scale);
            else if (least.possible)
                ck_assert(least.cost >= expected.cost << core->scale);
            cut += !least.possible;
        }
        mw_arena_free(&arena);
    }
    ck_assert(_i > 0 ? cut == 0 : cut > 100);
}
END_TEST

/* Potentials make costs negative. */
START_TEST(what_is_forbidden_stays_so)
{
    MwArena *arena = mw_arena_new();
    MwTables *tables = mw_tables_new(arena);
    const int count = 3;
    const MwTable *a = mw_table_intern(tables, 1, &count, (int64_t[]){MW_FORBIDDEN, -5, 7});
    const MwTable *b = mw_table_intern(tables, 1, &count, (int64_t[]){-5, MW_FORBIDDEN, -9});
    const MwTable *sum = mw_table_add(tables, a, b);
    ck_assert_int_eq(sum->at[0], MW_FORBIDDEN);
    ck_assert_int_eq(sum->at[1], MW_FORBIDDEN);
    ck_assert_int_eq(sum->at[2], -2);
    mw_arena_free(&arena);
}
END_TEST

/* ---- Remembering ---- */

/* A ring of equal layers of four nodes, each layer joined to the next one. */
static MwProblem *ring(MwArena *arena, int layers)
{
    enum { PLACES = 4, STRATEGIES = 6 };
    uint64_t state = 5;
    int64_t *cost[PLACES], *edge[PLACES];
    for (int p = 0; p < PLACES; p++) {
        cost[p] = MW_NEW(arena, int64_t, STRATEGIES);
        edge[p] = MW_NEW(arena, int64_t, STRATEGIES * STRATEGIES);
        for (int s = 0; s < STRATEGIES; s++)
            cost[p][s] = draw(&state, 100);
        for (int s = 0; s < STRATEGIES * STRATEGIES; s++)
            edge[p][s] = draw(&state, 100);
    }
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    problem->node_count = problem->edge_count = PLACES * layers;
    problem->nodes = MW_NEW(arena, MwProblemNode, problem->node_count);
    problem->edges = MW_NEW(arena, MwProblemEdge, problem->edge_count);
    problem->usage_limit = MW_USAGE_UNLIMITED;
    for (int i = 0; i < problem->node_count; i++) {
        problem->nodes[i] = (MwProblemNode){.strategy_count = STRATEGIES, .cost = cost[i % PLACES]};
        problem->edges[i] = (MwProblemEdge){i, (i + 1) % problem->node_count, edge[i % PLACES]};
    }
    return problem;
}

/* How many tables reducing the ring makes: ids count them. */
static int tables_made(int layers)
{
    MwArena *arena = mw_arena_new();
    MwTables *tables = mw_tables_new(arena);
    MwCore *core = mw_core_build(arena, tables, ring(arena, layers), false);
    all(core);
    for (int i = 0; i < core->node_count; i++)
        ck_assert_ptr_null(core->nodes[i].cost);
    int made = mw_table_intern(tables, 1, (int[]){1}, (int64_t[]){-1234567})->id;
    mw_arena_free(&arena);
    return made;
}

START_TEST(equal_layers_cost_about_as_much_as_one)
{
    int few = tables_made(8), many = tables_made(512);
    if (many > 2 * few)
        ck_abort_msg("%d tables for 8 layers, %d for 512", few, many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_reductions");
    TCase *tests = tcase_create("reductions");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, a_reduction_keeps_the_least_cost, 0, MW_COUNT(reductions));
    tcase_add_loop_test(tests, what_looks_alike_is_told_apart, 0, 2);
    tcase_add_loop_test(tests, several_dominate_together, 0, 2);
    tcase_add_test(tests, a_copy_restores_through_its_origin);
    tcase_add_test(tests, a_moved_copy_needs_only_its_origin);
    tcase_add_test(tests, what_is_extracted_costs_the_same);
    tcase_add_test(tests, a_certified_bound_is_one);
    tcase_add_test(tests, a_state_is_loaded_as_it_was_saved);
    tcase_add_loop_test(tests, cutting_keeps_what_is_below_the_cutoff, 0, 2);
    tcase_add_test(tests, what_is_forbidden_stays_so);
    tcase_add_test(tests, equal_layers_cost_about_as_much_as_one);
    return run_suite(suite);
}
