/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of memory by cutting planes, on two levels.
 *
 * At given prices the rows disappear, and the pricing problem is solved, or nearly (pricing.c).
 * Each answer is a plane that bounds the dual from above (bundle.c) and determines the next prices.
 * But an answer for the whole core is expensive, and one plane says little: if 48 equal layers may
 * each take one of two strategies at a price, an answer takes the same one for all of them.
 * Therefore the core is restricted, node by node, to the strategies that the answers so far take.
 * The restricted core contains every mixture of the answers, and its pricing problem costs a small
 * fraction of the work. The best prices of the restricted core are found first, by cutting planes
 * of its own (its choices are choices of the core, so their planes are valid for both). The core is
 * then priced at these. Either it has nothing better than the restricted core, and the prices are
 * optimal, or its answer extends the restricted core. This is column generation with disaggregated
 * columns (Vanderbeck and Savelsbergh, A generic view of Dantzig-Wolfe decomposition in mixed
 * integer programming, Operations Research Letters 34, 2006; Sadykov and Vanderbeck, Column
 * generation for extended formulations, EURO Journal on Computational Optimization 1, 2013).
 *
 * The two levels pay if layers are equal, so that elimination computes one layer; otherwise only
 * the core is priced, as long as its answers are informative.
 *
 * As long as every answer exceeds a row, its price is so high that memory alone matters.
 *
 * The restricted core is finally where to look for a choice that keeps the rows: the cheapest
 * convex combination of answers takes one of them here and another there, and with many equal
 * layers a choice comes close to it (Shapley and Folkman; Ekeland and Temam, Convex Analysis and
 * Variational Problems, 1976, appendix I). */
#include "solver/driver/lagrange.h"

#include "base/threads.h"
#include "solver/bound/bundle.h"
#include "solver/bound/polish.h"
#include "solver/bound/pricing.h"
#include "solver/reduce/reduce.h"
#include "solver/tuning.h"

#include <math.h>
#include <string.h>

/* Limits of the work if the planes converge slowly: answers of the core, and answers of the
 * restricted core for one of the core. */
enum { MOST_ANSWERS = 40, MOST_RESTRICTED_ANSWERS = 40 };
/* Limit of the memory: numbers in all planes, 64 MiB of them. */
enum { MOST_NUMBERS = 1 << 23 };

typedef struct {
    MwSearch *search;
    MwCore *core;
    MwArena *arena;
    void (*background)(MwSearch *search, int64_t work);
    const MwCore *origin; /* a copy of the core; answers are choices of it */
    MwBundle bundle;
    MwTrustRegion region;
    bool **is_taken;      /* [node][strategy] an answer, or the incumbent, takes it */
    const int *incumbent; /* the incumbent when it was last added */
    double *price;        /* [row] the next prices */
    int failures;         /* answers since the best prices */
    int *feasible;        /* the cheapest answer not offered yet that keeps the rows; or NULL */
    double feasible_cost;
    bool has_equal_layers;         /* the core consists of equal layers */
    bool restricted_is_hard;       /* even the restricted core cannot be solved by elimination */
    bool uses_fixing;              /* elimination alone is too expensive for a good answer */
    bool wants_optimal;            /* optimal answers are wanted */
    bool optimal_is_too_expensive; /* an optimal answer was wanted, but was too expensive */
    bool is_inexact;               /* the last answer may not be optimal */
} Lagrange;

static void mark_taken(const Lagrange *lagrange, const int *choice)
{
    for (int i = 0; i < lagrange->core->node_count; i++)
        if (lagrange->core->nodes[i].cost)
            lagrange->is_taken[i][choice[i]] = true;
}

/* Adds the incumbent: its plane keeps prices bounded, and its strategies give the restricted core a
 * choice that keeps the rows. */
static void add_incumbent(Lagrange *lagrange)
{
    const int *best = lagrange->search->solution->choice;
    if (!best || best == lagrange->incumbent)
        return;
    lagrange->incumbent = best;
    MwArena *scratch = mw_arena_new();
    int *entered = mw_arena_dup(scratch, best, sizeof *best * (size_t)lagrange->core->node_count);
    if (!lagrange->search->root && mw_core_reduce_choice(lagrange->core, entered)) {
        mark_taken(lagrange, entered);
        mw_bundle_add(&lagrange->bundle, entered);
    }
    mw_arena_free(&scratch);
}

/* Restricts a copy of the core to the strategies taken. */
static void restrict_to_taken(const Lagrange *lagrange, MwCore *copy)
{
    for (int i = 0; i < copy->node_count; i++) {
        if (!copy->nodes[i].cost)
            continue;
        const int count = mw_core_strategies(copy, i);
        int64_t *keep = mw_tables_scratch(copy->tables, count);
        int kept = 0;
        for (int s = 0; s < count; s++)
            if (lagrange->is_taken[i][s])
                keep[kept++] = s;
        if (kept < count)
            mw_core_restrict(copy, i, mw_table_intern(copy->tables, 1, &kept, keep));
    }
}

/* Returns the prices in the units of the core. */
static double *unscaled(MwArena *arena, const Lagrange *lagrange, const MwCore *restricted,
                        const double *price)
{
    const MwBundle *bundle = &lagrange->bundle;
    double *result = MW_NEW(arena, double, restricted->row_count);
    for (int row = 0, from = 0; row < restricted->row_count; row++) {
        while (lagrange->core->time[from] < restricted->time[row])
            from++;
        result[row] = price[from] * bundle->cost_unit / bundle->usage_unit;
    }
    return result;
}

static bool is_near(double value, double highest, double near)
{
    return highest - value <= near * fabs(value);
}

/* Returns the maximum of the planes over all prices. */
static double greatest_value(const Lagrange *lagrange)
{
    MwArena *scratch = mw_arena_new();
    MwTrustRegion region = lagrange->region;
    region.radius = INFINITY;
    const double highest = mw_bundle_maximise(&lagrange->bundle, &region,
                                              MW_NEW(scratch, double, lagrange->core->row_count));
    mw_arena_free(&scratch);
    return highest;
}

/* Keeps the answer of the last plane if it keeps the rows and is the cheapest such answer. */
static void keep_feasible(Lagrange *lagrange, const int *choice)
{
    const double cost = lagrange->bundle.cuts.at[lagrange->bundle.cuts.count - 1].cost;
    if (!mw_bundle_last_fits(&lagrange->bundle) ||
        (lagrange->feasible && cost >= lagrange->feasible_cost))
        return;
    lagrange->feasible_cost = cost;
    lagrange->feasible =
        mw_arena_dup(lagrange->arena, choice, sizeof *choice * (size_t)lagrange->core->node_count);
}

/* ---- The restricted core ---- */

/* Says whether the dual of the restricted core is known well enough: the less it differs from that
 * of the core, the more precisely. */
static bool is_converged(const Lagrange *lagrange, const MwTrustRegion *region, double highest)
{
    return is_near(region->value, highest, MW_TUNED_BUNDLE_GAP) ||
           highest - region->value <=
               MW_TUNED_ROUND_SHARE * (region->value - lagrange->region.value);
}

/* Sets the next prices for the restricted core. Returns false if it can improve no further. */
static bool propose_for_restricted(const Lagrange *lagrange, MwTrustRegion *region, double *price)
{
    MwTrustRegion next = *region;
    if (region->value == -INFINITY)
        next.radius = 0;
    region->predicted = mw_bundle_maximise(&lagrange->bundle, &next, price);
    if (region->value == -INFINITY || !is_converged(lagrange, region, region->predicted))
        return true;
    next.radius = INFINITY;
    if (is_converged(lagrange, region, mw_bundle_maximise(&lagrange->bundle, &next, price)))
        return false;
    region->radius = 1;
    region->predicted = mw_bundle_maximise(&lagrange->bundle, region, price);
    return true;
}

/* Solves the pricing problem of the restricted core. Returns false if it has no answer, or none
 * that is easily found. */
static bool price_restricted(Lagrange *lagrange, const MwCore *restricted, MwTrustRegion *region,
                             const double *price)
{
    MwArena *scratch = mw_arena_new();
    const int64_t total =
        MW_TUNED_REPEATS * (mw_core_entries_left(restricted) + mw_core_strategies_left(restricted));
    const MwPricingAnswer answer =
        mw_pricing_solve(scratch, restricted, unscaled(scratch, lagrange, restricted, price), total,
                         &lagrange->restricted_is_hard, &lagrange->search->stop);
    const bool is_answered =
        answer.choice && mw_core_restore_to(restricted, lagrange->origin, answer.choice);
    if (is_answered) {
        mw_bundle_add(&lagrange->bundle, answer.choice);
        keep_feasible(lagrange, answer.choice);
        mw_trust_region_update(region, lagrange->core->row_count, price,
                               mw_bundle_value(&lagrange->bundle, price));
    }
    mw_arena_free(&scratch);
    return is_answered && !lagrange->restricted_is_hard;
}

/* Returns the core restricted to the strategies taken; reduced, if that leaves a choice. */
static const MwCore *make_restricted(MwArena *arena, const Lagrange *lagrange)
{
    const MwReduceLimits shrinking = mw_reduce_shrinking(lagrange->search->stop);
    MwCore *restricted = mw_core_copy_independent(arena, lagrange->origin);
    restrict_to_taken(lagrange, restricted);
    MwCore *reduced = mw_core_copy(arena, restricted);
    mw_reduce(reduced, &shrinking);
    return reduced->infeasible ? restricted : reduced;
}

/* Maximises the dual of the restricted core, and proposes its best prices for the core. */
static void maximise_restricted(Lagrange *lagrange)
{
    MwArena *scratch = mw_arena_new();
    const size_t bytes = sizeof(double) * (size_t)lagrange->core->row_count;
    const MwCore *restricted = make_restricted(scratch, lagrange);
    MwTrustRegion region = {.price = mw_arena_dup(scratch, lagrange->region.price, bytes),
                            .value = -INFINITY,
                            .radius = MW_TUNED_TRUST_RADIUS,
                            .within = &lagrange->region};
    double *price = MW_NEW(scratch, double, lagrange->core->row_count);
    for (int i = 0; i < MOST_RESTRICTED_ANSWERS && !mw_stopped(&lagrange->search->stop); i++)
        if (!propose_for_restricted(lagrange, &region, price) ||
            !price_restricted(lagrange, restricted, &region, price))
            break;
    if (region.value > -INFINITY) {
        lagrange->region.predicted = region.value;
        memcpy(lagrange->price, region.price, bytes);
    }
    mw_arena_free(&scratch);
}

/* ---- The core ---- */

/* Offers the cheapest answer that keeps the rows, after local search, to the search. */
static void offer(Lagrange *lagrange)
{
    if (!lagrange->feasible)
        return;
    mw_polish(lagrange->core, lagrange->feasible);
    mw_search_offer_core_choice(lagrange->search, lagrange->core, lagrange->feasible);
    lagrange->feasible = NULL;
}

/* A pricing problem, and the work done in parallel. */
typedef struct {
    Lagrange *lagrange;
    bool prices_restricted;
    MwPricingAnswer answer;
} PricingTask;

/* Solves the pricing problem of the core to optimality, within a fraction of the time. */
static MwPricingAnswer price_optimally(Lagrange *lagrange, const double *price)
{
    const MwStop *stop = &lagrange->search->stop;
    const MwStop shorter = mw_stop_within(stop, MW_TUNED_TIME_SHARE * MW_TUNED_TIME_SHARE);
    const int64_t total = MW_TUNED_REPEATS * mw_core_entries_left(lagrange->core);
    return mw_pricing_solve_optimally(lagrange->arena, lagrange->origin, price,
                                      mw_min(total, MW_MANY_ENTRIES), &shorter);
}

/* Solves the pricing problem of the core. */
static MwPricingAnswer price_core(Lagrange *lagrange)
{
    const double *price = unscaled(lagrange->arena, lagrange, lagrange->core, lagrange->price);
    MwPricingAnswer answer = {0};
    lagrange->is_inexact = false;
    if (lagrange->wants_optimal)
        answer = price_optimally(lagrange, price);
    if (answer.choice || answer.infeasible)
        return answer;
    lagrange->optimal_is_too_expensive |= lagrange->wants_optimal;
    lagrange->wants_optimal = false;
    /* A good answer is worth half of a visit of all tables. */
    answer = mw_pricing_solve(lagrange->arena, lagrange->origin, price,
                              mw_core_entries_left(lagrange->core) / 2, &lagrange->uses_fixing,
                              &lagrange->search->stop);
    lagrange->is_inexact = lagrange->uses_fixing;
    return answer;
}

static void run_task(void *context, int task)
{
    PricingTask *pricing = context;
    Lagrange *lagrange = pricing->lagrange;
    if (task == 1) {
        /* an answer takes about as long as ten iterations of the ascent */
        const int64_t work = 10 * MW_TUNED_IMPROVE_WORK * mw_core_entries_left(lagrange->core);
        if (lagrange->background)
            lagrange->background(lagrange->search, work + 1);
        return;
    }
    if (pricing->prices_restricted)
        maximise_restricted(lagrange);
    pricing->answer = price_core(lagrange);
}

/* Says whether the gap of an answer is too large for its plane to be informative. */
static bool is_uninformative(const MwPricingAnswer *answer)
{
    return (double)(answer->cost - answer->bound) > MW_NEAR_OPTIMAL * fabs((double)answer->cost);
}

/* Adds an answer. Returns false if it is nothing new. */
static bool add_answer(Lagrange *lagrange, const MwPricingAnswer *answer)
{
    const int rows = lagrange->core->row_count;
    const double before = mw_bundle_value(&lagrange->bundle, lagrange->price);
    bool is_new = mw_bundle_add(&lagrange->bundle, answer->choice);
    is_new |=
        !is_near(mw_bundle_value(&lagrange->bundle, lagrange->price), before, MW_TUNED_BUNDLE_GAP);
    keep_feasible(lagrange, answer->choice);
    offer(lagrange);
    mark_taken(lagrange, answer->choice);
    mw_search_raise_bound(lagrange->search, lagrange->core, answer->bound);
    const double value = (double)answer->bound / lagrange->bundle.cost_unit;
    lagrange->failures = value > lagrange->region.value ? 0 : lagrange->failures + 1;
    mw_trust_region_update(&lagrange->region, rows, lagrange->price, value);
    return is_new;
}

/* Sets the next prices for the core. Returns true if the restricted core may be priced first: no
 * price reaches its limit. */
static bool propose(Lagrange *lagrange)
{
    MwBundle *bundle = &lagrange->bundle;
    MwTrustRegion anywhere = lagrange->region;
    anywhere.radius = INFINITY;
    double greatest_price = 0, highest = mw_bundle_maximise(bundle, &anywhere, lagrange->price);
    for (int row = 0; row < lagrange->core->row_count; row++)
        greatest_price = fmax(greatest_price, lagrange->price[row]);
    lagrange->region.predicted = highest;
    if (greatest_price < bundle->price_limit || bundle->price_limit >= bundle->price_sum_limit) {
        lagrange->region.predicted = mw_bundle_maximise(bundle, &lagrange->region, lagrange->price);
        return true;
    }
    if (lagrange->failures == 0 || is_near(lagrange->region.value, highest, MW_TUNED_BUNDLE_GAP))
        bundle->price_limit =
            fmin(bundle->price_sum_limit, bundle->price_limit / MW_TUNED_PRICE_CAP);
    return false;
}

/* Says whether to continue after an answer that may not be optimal. If such answers bring nothing
 * new, optimal ones are worth their cost. */
static bool continues_inexactly(Lagrange *lagrange, const MwPricingAnswer *answer, bool is_new)
{
    if (!lagrange->has_equal_layers)
        return lagrange->failures == 0 || !is_uninformative(answer);
    if (is_new)
        return true;
    lagrange->wants_optimal =
        !lagrange->optimal_is_too_expensive && !lagrange->search->options->quick;
    return lagrange->wants_optimal;
}

/* Prices the core once at the most promising prices. Returns false if no more progress is
 * possible. */
static bool improve_prices(Lagrange *lagrange)
{
    MwSearch *search = lagrange->search;
    MwArena *scratch = mw_arena_new();
    add_incumbent(lagrange);
    const bool may_price_restricted =
        lagrange->has_equal_layers && lagrange->region.value > -INFINITY;
    PricingTask pricing = {.lagrange = lagrange};
    pricing.prices_restricted = propose(lagrange) && may_price_restricted;
    mw_parallel(search->options->threads, 2, run_task, &pricing);
    const MwPricingAnswer *answer = &pricing.answer;
    if (answer->infeasible)
        mw_search_exhaust(search);
    const bool is_new = answer->choice && add_answer(lagrange, answer);
    const bool is_done =
        !answer->choice || lagrange->restricted_is_hard ||
        is_near(lagrange->region.value, greatest_value(lagrange), MW_TUNED_BUNDLE_GAP) ||
        (lagrange->is_inexact && !continues_inexactly(lagrange, answer, is_new));
    const double *best = unscaled(scratch, lagrange, lagrange->core, lagrange->region.price);
    for (int row = 0; row < lagrange->core->row_count; row++)
        lagrange->core->price[row] = best[row];
    if (search->improver)
        mw_improver_set_prices(search->improver, lagrange->core, best);
    mw_search_log(search, lagrange->core, "price");
    mw_arena_free(&scratch);
    return !is_done;
}

/* Prices the core until no more progress is possible or little time is left. Returns false if there
 * are no answers. */
static bool maximise_dual(Lagrange *lagrange)
{
    const MwSearch *search = lagrange->search;
    const double reserved_s = MW_TUNED_TIME_SHARE * mw_stop_left_s(&search->stop);
    const int64_t most_planes = MOST_NUMBERS / mw_max(1, lagrange->core->row_count);
    int answers = 0;
    while (answers < MOST_ANSWERS && lagrange->bundle.cuts.count < most_planes &&
           mw_stop_left_s(&search->stop) >= reserved_s && !mw_stopped(&search->stop) &&
           !mw_search_done(search)) {
        answers++;
        if (!improve_prices(lagrange))
            break;
    }
    return lagrange->region.value > -INFINITY;
}

static Lagrange begin(MwArena *arena, MwSearch *search, MwCore *core)
{
    Lagrange lagrange = {.search = search, .core = core, .arena = arena};
    lagrange.region = (MwTrustRegion){.price = MW_NEW(arena, double, core->row_count),
                                      .value = -INFINITY,
                                      .radius = MW_TUNED_TRUST_RADIUS};
    lagrange.price = MW_NEW(arena, double, core->row_count);
    lagrange.origin = mw_core_copy(arena, core);
    lagrange.is_taken = MW_NEW(arena, bool *, core->node_count);
    for (int i = 0; i < core->node_count; i++)
        if (core->nodes[i].cost)
            lagrange.is_taken[i] = MW_NEW(arena, bool, mw_core_strategies(core, i));
    lagrange.has_equal_layers =
        MW_TUNED_REPEATS * mw_core_distinct_entries(core) <= mw_core_entries_left(core);
    const MwCost bound = (MwCost)ldexp((double)search->solution->lower_bound, core->scale);
    lagrange.bundle = mw_bundle_new(arena, core, bound, search->problem->usage_limit);
    return lagrange;
}

/* Adds the plane of the choice that is good without prices. */
static void add_unlimited(Lagrange *lagrange, const int *choice)
{
    if (lagrange->search->root)
        mw_bundle_add(&lagrange->bundle, choice);
    else
        mw_bundle_add_problem_choice(&lagrange->bundle, lagrange->search->problem, choice);
}

MwCore *mw_lagrange(MwSearch *search, MwCore *core, const int *unlimited,
                    void (*background)(MwSearch *search, int64_t work))
{
    MwArena *arena = mw_arena_new();
    Lagrange lagrange = begin(arena, search, core);
    lagrange.background = background;
    add_unlimited(&lagrange, unlimited);
    MwCore *restricted = NULL;
    if (maximise_dual(&lagrange) && !mw_search_done(search)) {
        restricted = mw_core_copy(search->scratch, core);
        restrict_to_taken(&lagrange, restricted);
    }
    mw_arena_free(&arena);
    return restricted;
}
