/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What potentials leave of entries; prices in the place of memory rows: blends of choices against
 * any other prices, what is paid for against enumeration, bounds and choices found by prices; equal
 * layers are the work of one, with memory that binds too. */
#include "solver/bound/bundle.h"
#include "solver/bound/marginal.h"
#include "solver/bound/master.h"
#include "solver/bound/pricing.h"
#include "solver/core/fixed_price.h"
#include "solver/driver/lagrange.h"
#include "solver/reduce/reduce.h"
#include "tests/solver/random_problem.h"
#include "tests/unit/support.h"

#include <math.h>
#include <stdlib.h>

static const RandomKind kinds[] = {
    {5, 7, 4, 0, 30, true},
    {6, 8, 3, 10, 100, true},
    {7, 7, 3, 0, 1000000, true},
    {6, 5, 3, 25, 9, true},
};

/* ---- Blends ---- */

/* The lowest of the planes at `price`. */
static double lowest(const MwMaster *blend, const double *price)
{
    double least = INFINITY;
    for (int k = 0; k < blend->count; k++) {
        double at = blend->cost[k];
        for (int row = 0; row < blend->rows; row++)
            at += price[row] * blend->excess[k * blend->rows + row];
        least = fmin(least, at);
    }
    return least;
}

START_TEST(no_prices_are_better_than_those_of_a_blend)
{
    enum { MOST = 8 };
    for (int seed = 0; seed < 3000; seed++) {
        uint64_t state = (uint64_t)seed;
        double cost[MOST], excess[MOST * MOST], least[MOST], most[MOST], price[MOST], other[MOST];
        MwMaster blend = {.count = 1 + (int)draw(&state, MOST),
                          .rows = (int)draw(&state, MOST),
                          .cost = cost,
                          .excess = excess,
                          .least = least,
                          .most = most};
        for (int k = 0; k < blend.count; k++)
            cost[k] = 1 + (double)draw(&state, 30) / 10;
        for (int k = 0; k < blend.count * blend.rows; k++)
            excess[k] = ((double)draw(&state, 21) - 8) / 10;
        for (int row = 0; row < blend.rows; row++) {
            least[row] = draw(&state, 2) * (double)draw(&state, 20) / 10;
            most[row] = least[row] + (double)draw(&state, 90) / 10;
        }
        double value = mw_master_solve(&blend, price);
        for (int row = 0; row < blend.rows; row++)
            ck_assert(price[row] >= least[row] && price[row] <= most[row]);
        if (fabs(lowest(&blend, price) - value) > 1e-9)
            ck_abort_msg("seed %d: %g at its prices, not %g", seed, lowest(&blend, price), value);
        for (int i = 0; i < 20; i++) {
            for (int row = 0; row < blend.rows; row++)
                other[row] = least[row] + (most[row] - least[row]) * (double)draw(&state, 11) / 10;
            if (lowest(&blend, other) > value + 1e-9)
                ck_abort_msg("seed %d: other prices are better", seed);
        }
    }
}
END_TEST

/* ---- Planes ---- */

/* An allowed choice of the core by chance; NULL if none is soon found. */
static const int *random_choice(MwArena *arena, const MwCore *core, uint64_t *state)
{
    int *choice = MW_NEW(arena, int, core->node_count);
    for (int attempts = 0; attempts < 30; attempts++) {
        for (int i = 0; i < core->node_count; i++)
            if (core->nodes[i].cost)
                choice[i] = (int)draw(state, (int)core->nodes[i].cost->count);
        if (mw_core_allows(core, choice))
            return choice;
    }
    return NULL;
}

/* What the choice costs at prices, with what it uses paid for and the limits paid back. */
static double cost_at(const MwBundle *planes, const int *choice, const double *price)
{
    const MwCore *core = planes->core;
    double cost = (double)mw_core_cost(core, choice) / planes->cost_unit;
    for (int row = 0; row < core->row_count; row++) {
        double usage = 0;
        for (int i = 0; i < core->node_count; i++)
            for (int k = 0; core->nodes[i].cost && k < core->nodes[i].terms.count; k++) {
                const MwCoreTerm *term = &core->nodes[i].terms.at[k];
                if (term->first <= row && row <= term->last)
                    usage += (double)term->usage->at[choice[i]];
            }
        cost += price[row] * (usage - (double)core->limit[row]) / planes->usage_unit;
    }
    return cost;
}

/* The box is where the next prices are, and moves to the best of those asked for. Returns how many
 * choices there were. */
static int check_planes(MwArena *arena, const MwCore *core, uint64_t *state, int seed)
{
    enum { CHOICES = 6 };
    MwBundle planes = mw_bundle_new(arena, core, (MwCost)500 << core->scale, 20);
    MwTrustRegion box = {
        .price = MW_NEW(arena, double, core->row_count), .value = -INFINITY, .radius = INFINITY};
    double *price = MW_NEW(arena, double, core->row_count);
    const int *choice[CHOICES];
    for (int k = 0; k < CHOICES; k++) {
        choice[k] = random_choice(arena, core, state);
        if (!choice[k])
            return k;
        const int rows = planes.rows.count;
        ck_assert_int_eq(mw_bundle_add(&planes, choice[k]), planes.rows.count > rows);
        const MwTrustRegion before = box;
        const double highest = mw_bundle_maximise(&planes, &box, price);
        double least = INFINITY, sum = 0, total = 0;
        for (int other = 0; other <= k; other++)
            least = fmin(least, cost_at(&planes, choice[other], price));
        for (int row = 0; row < core->row_count; row++) {
            sum += price[row];
            total += box.price[row];
        }
        for (int row = 0; row < core->row_count; row++)
            ck_assert(price[row] >= 0 && (total == 0 || fabs(price[row] - box.price[row]) <=
                                                            box.radius * total + 1e-9));
        ck_assert(sum <= planes.price_sum_limit * (1 + 1e-9));
        if (fabs(least - mw_bundle_value(&planes, price)) > 1e-9 * fabs(least) ||
            least > highest + 1e-9 * fabs(highest))
            ck_abort_msg("seed %d: planes at %g, not %g; promised %g", seed,
                         mw_bundle_value(&planes, price), least, highest);
        box.predicted = highest;
        if (k == 0)
            box.radius = 0.5;
        mw_trust_region_update(&box, core->row_count, price, least);
        ck_assert(box.value == fmax(before.value, least));
        ck_assert(least > before.value ? box.radius >= 0.5 * before.radius || k == 0
                                       : box.radius < before.radius);
    }
    return CHOICES;
}

START_TEST(planes_are_what_choices_cost_at_prices)
{
    int checked = 0;
    for (int seed = 0; seed < 600; seed++) {
        MwArena *arena = mw_arena_new();
        uint64_t state = (uint64_t)seed;
        const MwProblem *problem =
            random_problem(arena, &kinds[seed % MW_COUNT(kinds)], (uint64_t)seed);
        const MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
        checked += check_planes(arena, core, &state, seed);
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(checked, 1500);
}
END_TEST

/* ---- What potentials leave ---- */

enum { MOST_DIMS = 4, MOST_CLASSES = 6 };

/* The least of what is left by class of `dim`, entry by entry. */
static void margin_by_entry(const MwTable *table, double *const *potential, int dim,
                            const int *held, double *margin)
{
    for (int c = 0; c < table->dims[dim]; c++)
        margin[c] = INFINITY;
    for (int64_t e = 0; e < table->count; e++) {
        double left = table->at[e] < MW_FORBIDDEN ? (double)table->at[e] : INFINITY;
        int class = 0;
        for (int i = table->arity - 1, rest = (int)e; i >= 0; rest /= table->dims[i--]) {
            int own = rest % table->dims[i];
            left -= potential[i][own];
            if (held && held[i] >= 0 && held[i] != own)
                left = INFINITY;
            if (i == dim)
                class = own;
        }
        margin[class] = fmin(margin[class], left);
    }
}

START_TEST(margins_are_the_least_of_what_is_left)
{
    for (int seed = 0; seed < 1000; seed++) {
        MwArena *arena = mw_arena_new();
        uint64_t state = (uint64_t)seed;
        int dims[MOST_DIMS], held[MOST_DIMS], arity = 1 + (int)draw(&state, MOST_DIMS), count = 1;
        double *potential[MOST_DIMS], margin[MOST_CLASSES + MW_MARGINAL_LANES],
            by_entry[MOST_CLASSES];
        for (int i = 0; i < arity; i++) {
            dims[i] = 1 + (int)draw(&state, MOST_CLASSES);
            count *= dims[i];
            held[i] = draw(&state, 2) ? (int)draw(&state, dims[i]) : -1;
            potential[i] = MW_NEW(arena, double, mw_marginal_room(dims[i]));
            for (int c = 0; c < dims[i]; c++)
                potential[i][c] = (double)draw(&state, 100) - 50;
        }
        int64_t *cost = MW_NEW(arena, int64_t, count);
        for (int e = 0; e < count; e++)
            cost[e] = draw(&state, 5) ? draw(&state, 100) : MW_FORBIDDEN;
        const MwTable *table = mw_table_intern(mw_tables_new(arena), arity, dims, cost);
        const MwMarginalTable *made = mw_marginal_table_new(arena, table);
        for (int dim = 0; dim < arity; dim++)
            for (int holds = 0; holds < 2; holds++) {
                held[dim] = -1;
                mw_marginals(made, potential, dim, holds ? held : NULL, margin);
                margin_by_entry(table, potential, dim, holds ? held : NULL, by_entry);
                for (int c = 0; c < dims[dim]; c++)
                    if (margin[c] != by_entry[c])
                        ck_abort_msg("seed %d: class %d of dimension %d: %g, not %g", seed, c, dim,
                                     margin[c], by_entry[c]);
            }
        mw_arena_free(&arena);
    }
}
END_TEST

/* ---- Prices on cores ---- */

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

static double *random_prices(MwArena *arena, const MwCore *core, uint64_t *state)
{
    double *price = MW_NEW(arena, double, core->row_count);
    for (int row = 0; row < core->row_count; row++)
        price[row] = (double)draw(state, 1000) / 7 * ldexp(1, core->scale);
    return price;
}

typedef struct {
    const MwCore *core, *paid;
    const double *price;
} Paid;

/* A random problem's core, and what it is at random prices. */
static Paid random_paid(MwArena *arena, int seed)
{
    uint64_t state = (uint64_t)seed;
    const MwProblem *problem = random_problem(arena, &kinds[seed % MW_COUNT(kinds)], state);
    const MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
    MwCore *paid = mw_core_copy(arena, core);
    const double *price = random_prices(arena, core, &state);
    ck_assert(mw_core_relax_rows(paid, price));
    ck_assert_int_eq(paid->row_count, 0);
    return (Paid){core, paid, price};
}

START_TEST(what_keeps_the_rows_costs_no_more_when_it_pays)
{
    int cheaper = 0;
    for (int seed = 0; seed < 400; seed++) {
        MwArena *arena = mw_arena_new();
        const Paid random = random_paid(arena, seed);
        const MwCore *core = random.core, *paid = random.paid;
        int *choice = MW_NEW(arena, int, core->node_count);
        do {
            if (!mw_core_allows(core, choice))
                continue;
            MwCost before = mw_core_cost(core, choice), after = mw_core_cost(paid, choice);
            if (mw_core_fits(core, choice) && after > before)
                ck_abort_msg("seed %d: paying makes a legal choice dearer", seed);
            cheaper += after < before;
        } while (advance(core, choice));
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(cheaper, 1000);
}
END_TEST

/* With so little work at times that only sweeps are left. */
START_TEST(a_core_at_prices_is_bounded_and_solved)
{
    int solved = 0;
    for (int seed = 0; seed < 400; seed++) {
        MwArena *arena = mw_arena_new();
        const Paid random = random_paid(arena, seed);
        const MwCore *core = random.core, *paid = random.paid;
        MwCost least = MW_FORBIDDEN;
        int *choice = MW_NEW(arena, int, core->node_count);
        do {
            if (mw_core_allows(paid, choice) && mw_core_cost(paid, choice) < least)
                least = mw_core_cost(paid, choice);
        } while (advance(core, choice));
        bool sharpens = seed % 2;
        const MwStop stop = {0};
        MwPricingAnswer priced =
            mw_pricing_solve(arena, core, random.price, seed % 3 ? 1 << 20 : -1, &sharpens, &stop);
        ck_assert(!priced.infeasible || least == MW_FORBIDDEN);
        ck_assert(priced.bound <= least);
        if (priced.choice) {
            ck_assert(mw_core_allows(core, priced.choice));
            ck_assert(mw_core_cost(paid, priced.choice) == priced.cost && priced.cost >= least);
            solved += priced.cost == priced.bound;
        }
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(solved, 200);
}
END_TEST

/* Every choice of `part` costs what it restores to. */
static void check_part(const MwProblem *problem, const MwCore *part)
{
    int *choice = calloc((size_t)part->node_count, sizeof *choice);
    int *restored = calloc((size_t)part->node_count, sizeof *restored);
    do {
        for (int i = 0; i < part->node_count; i++)
            restored[i] = choice[i];
        mw_core_restore(part, restored);
        if (mw_core_allows(part, choice))
            ck_assert(mw_core_cost(part, choice) == mw_problem_cost(problem, restored)
                                                        << part->scale);
    } while (advance(part, choice));
    free(choice);
    free(restored);
}

/* Finds prices for a problem whose best choice without the limit exceeds it. True if they were. */
static bool check_prices(MwArena *arena, const MwProblem *problem, int seed)
{
    MwProblem unlimited = *problem;
    unlimited.usage_limit = MW_USAGE_UNLIMITED;
    const MwSolveOptions options = {0};
    const int *choice = mw_solve(arena, &unlimited, &options).choice;
    int64_t time;
    if (!choice || mw_problem_peak(problem, choice, &time) <= problem->usage_limit)
        return false;
    MwSolution solution = {.lower_bound = mw_problem_cost(problem, choice)};
    MwSearch search = {.problem = problem,
                       .arena = arena,
                       .scratch = arena,
                       .tables = mw_tables_new(arena),
                       .options = &options,
                       .solution = &solution,
                       .step_scale = 1};
    MwCore *core = mw_core_build(arena, search.tables, problem, true);
    const MwCore *part = mw_lagrange(&search, core, choice, NULL);
    const Enumerated expected = enumerate(problem);
    if (expected.possible && (search.impossible || solution.lower_bound > expected.cost ||
                              (solution.choice && solution.cost < expected.cost)))
        ck_abort_msg("seed %d: a bound that is none", seed);
    if (!expected.possible && solution.choice)
        ck_abort_msg("seed %d: an answer where there is none", seed);
    if (part)
        check_part(problem, part);
    return solution.lower_bound > mw_problem_cost(problem, choice);
}

START_TEST(prices_bound_what_keeps_the_rows)
{
    /* What elimination alone does not solve. */
    static const RandomKind dense = {8, 60, 5, 0, 1000000, true};
    int found = 0;
    for (int seed = 0; seed < 600; seed++) {
        MwArena *arena = mw_arena_new();
        const RandomKind *kind = seed % 3 == 0 ? &dense : &kinds[seed % MW_COUNT(kinds)];
        found += check_prices(arena, random_problem(arena, kind, (uint64_t)seed), seed);
        mw_arena_free(&arena);
    }
    ck_assert_int_gt(found, 60); /* more than without prices */
}
END_TEST

/* ---- Equal layers ---- */

/* A chain of equal layers of four nodes. What the first two hold is kept to the end, as for a
 * backward pass; so memory is fullest there. */
static MwProblem *chain(MwArena *arena, int layers)
{
    enum { PLACES = 4, STRATEGIES = 6 };
    uint64_t state = 5;
    int64_t *cost[PLACES], *usage[PLACES], *edge[PLACES];
    for (int p = 0; p < PLACES; p++) {
        cost[p] = MW_NEW(arena, int64_t, STRATEGIES);
        usage[p] = MW_NEW(arena, int64_t, STRATEGIES);
        edge[p] = MW_NEW(arena, int64_t, STRATEGIES * STRATEGIES);
        for (int s = 0; s < STRATEGIES; s++) {
            cost[p][s] = 1000 + draw(&state, 1000);
            usage[p][s] = (2600 - cost[p][s]) * (1 + draw(&state, 3)) / 50;
        }
        for (int s = 0; s < STRATEGIES * STRATEGIES; s++)
            edge[p][s] = draw(&state, 1000);
    }
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    problem->node_count = PLACES * layers;
    problem->edge_count = problem->node_count - 1;
    problem->nodes = MW_NEW(arena, MwProblemNode, problem->node_count);
    problem->edges = MW_NEW(arena, MwProblemEdge, problem->edge_count);
    problem->usage_limit = 38 * layers;
    for (int i = 0; i < problem->node_count; i++)
        problem->nodes[i] = (MwProblemNode){.strategy_count = STRATEGIES,
                                            .cost = cost[i % PLACES],
                                            .usage = usage[i % PLACES],
                                            .begin = i,
                                            .end = i % PLACES < 2 ? problem->node_count : i + 2};
    for (int i = 0; i < problem->edge_count; i++)
        problem->edges[i] = (MwProblemEdge){i, i + 1, edge[i % PLACES]};
    return problem;
}

/* How many tables it takes to solve the chain at a price of the fullest time: ids count them. */
static int tables_made(int layers)
{
    MwArena *arena = mw_arena_new();
    MwTables *tables = mw_tables_new(arena);
    MwCore *core = mw_core_build(arena, tables, chain(arena, layers), true);
    double *price = MW_NEW(arena, double, core->row_count);
    price[core->row_count - 1] = ldexp(5, core->scale);
    ck_assert(mw_core_relax_rows(core, price));
    mw_reduce(core,
              &(MwReduceLimits){.arity = MW_TABLE_ARITY, .entries = 1 << 20, .total = INT64_MAX});
    for (int i = 0; i < core->node_count; i++)
        ck_assert_ptr_null(core->nodes[i].cost);
    int made = mw_table_intern(tables, 1, (int[]){1}, (int64_t[]){-1234567})->id;
    mw_arena_free(&arena);
    return made;
}

START_TEST(equal_layers_are_the_work_of_one_where_memory_binds)
{
    int few = tables_made(8), many = tables_made(512);
    if (many > 2 * few)
        ck_abort_msg("%d tables for 8 layers, %d for 512", few, many);
}
END_TEST

/* The value of the dual with a price for the last row alone. */
static double dual_at(MwArena *arena, const MwProblem *problem, double price)
{
    MwCore *core = mw_core_build(arena, mw_tables_new(arena), problem, true);
    double *prices = MW_NEW(arena, double, core->row_count);
    prices[core->row_count - 1] = ldexp(price, core->scale);
    ck_assert(mw_core_relax_rows(core, prices));
    mw_reduce(core,
              &(MwReduceLimits){.arity = MW_TABLE_ARITY, .entries = 1 << 20, .total = INT64_MAX});
    return ldexp((double)core->constant, -core->scale);
}

/* Where it is highest: it is concave. */
static double highest_dual(MwArena *arena, const MwProblem *problem)
{
    double first = 0, last = 1000;
    for (int i = 0; i < 60; i++) {
        const double left = first + (last - first) / 3, right = last - (last - first) / 3;
        if (dual_at(arena, problem, left) < dual_at(arena, problem, right))
            first = left;
        else
            last = right;
    }
    return dual_at(arena, problem, first);
}

/* At least as high as with one price; and what the answers take holds a choice near that. */
START_TEST(equal_layers_are_asked_for_the_best_prices)
{
    for (int layers = 24; layers <= 96; layers *= 2) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = chain(arena, layers);
        MwProblem unlimited = *problem;
        unlimited.usage_limit = MW_USAGE_UNLIMITED;
        const MwSolveOptions options = {0};
        const MwSolution free_of_it = mw_solve(arena, &unlimited, &options);
        MwSolution solution = {.lower_bound = free_of_it.cost};
        MwSearch search = {.problem = problem,
                           .arena = arena,
                           .scratch = arena,
                           .tables = mw_tables_new(arena),
                           .options = &options,
                           .solution = &solution};
        MwCore *core = mw_core_build(arena, search.tables, problem, true);
        ck_assert_int_lt(8 * mw_core_distinct_entries(core), mw_core_entries_left(core));
        const MwCore *part = mw_lagrange(&search, core, free_of_it.choice, NULL);
        const double dual = highest_dual(arena, problem);
        ck_assert(dual > 1.01 * (double)free_of_it.cost);
        if ((double)solution.lower_bound < (1 - 2e-4) * dual)
            ck_abort_msg("%d layers: %lld, not %g", layers, (long long)solution.lower_bound, dual);
        ck_assert_ptr_nonnull(part);
        ck_assert(mw_core_strategies_left(part) < mw_core_strategies_left(core) / 2);
        mw_arena_free(&arena);
    }
}
END_TEST

/* As close as the pass wants it, with no search. */
START_TEST(many_equal_layers_are_nearly_solved_at_once)
{
    for (int layers = 32; layers <= 128; layers *= 2) {
        MwArena *arena = mw_arena_new();
        const MwProblem *problem = chain(arena, layers);
        MwSolution solution = mw_solve(arena, problem, &(MwSolveOptions){.quick = true});
        ck_assert_ptr_nonnull(solution.choice);
        ck_assert(solution.peak_usage > problem->usage_limit * 9 / 10); /* it binds */
        double gap = (double)(solution.cost - solution.lower_bound) / (double)solution.cost;
        if (gap > 0.005)
            ck_abort_msg("%d layers: gap %g", layers, gap);
        mw_arena_free(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_prices");
    TCase *tests = tcase_create("prices");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, no_prices_are_better_than_those_of_a_blend);
    tcase_add_test(tests, planes_are_what_choices_cost_at_prices);
    tcase_add_test(tests, margins_are_the_least_of_what_is_left);
    tcase_add_test(tests, what_keeps_the_rows_costs_no_more_when_it_pays);
    tcase_add_test(tests, a_core_at_prices_is_bounded_and_solved);
    tcase_add_test(tests, prices_bound_what_keeps_the_rows);
    tcase_add_test(tests, equal_layers_are_the_work_of_one_where_memory_binds);
    tcase_add_test(tests, equal_layers_are_asked_for_the_best_prices);
    tcase_add_test(tests, many_equal_layers_are_nearly_solved_at_once);
    return run_suite(suite);
}
