/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of memory by cutting planes, on two levels.
 *
 * At given prices the rows go away, and what is left is solved, or nearly (pricing.c). Each
 * answer bounds the dual from above by a plane (bundle.c) and tells where to ask next. But an
 * answer for the whole core is dear, and one plane says little: where 48 equal layers may each
 * take one of two strategies at a price, an answer takes the same for all of them. So the core
 * is restricted to what the answers so far take, node by node (the part): that holds every
 * mixture of them, and costs a small share of the work. The best prices of the part are found
 * first, by cutting planes of its own (whose choices are choices of the core, so that their
 * planes count there, too); the core is then asked at these. It either knows nothing better
 * than the part there, and the prices are the best ones, or its answer makes the part richer.
 * That is column generation with the columns taken apart (Vanderbeck and Savelsbergh, A generic
 * view of Dantzig-Wolfe decomposition in mixed integer programming, Operations Research Letters
 * 34, 2006; Sadykov and Vanderbeck, Column generation for extended formulations, EURO Journal
 * on Computational Optimization 1, 2013).
 *
 * That is worth it where layers are equal, so that elimination is one layer's work; elsewhere,
 * the core alone is asked, as long as its answers say something.
 *
 * As long as nothing is known of a row but answers that exceed it, it is priced so high that
 * memory is all that counts.
 *
 * What the part ends up as is where to look for a choice that keeps the rows: the cheapest
 * blend of answers takes one of them here and another there, and with many equal layers that
 * can nearly be had (Shapley and Folkman; Ekeland and Temam, Convex Analysis and Variational
 * Problems, 1976, appendix I). */
#include "solver/road/lagrange.h"

#include "base/threads.h"
#include "solver/bound/bundle.h"
#include "solver/bound/polish.h"
#include "solver/bound/pricing.h"
#include "solver/reduce/reduce.h"
#include "solver/tuning.h"

#include <math.h>
#include <string.h>

/* Limits of work where the planes come near slowly: answers of the core, and of its restriction
 * for one of the core. */
enum { MOST_ANSWERS = 40, MOST_OF_RESTRICTED = 40 };
/* The limit of memory: numbers that the planes consist of, 64 MiB together. */
enum { MOST_NUMBERS = 1 << 23 };

typedef struct {
    MwSearch *search;
    MwCore *core;
    MwArena *arena;
    void (*beside)(MwSearch *search, int64_t work);
    const MwCore *origin; /* a copy of the core: what answers restore to */
    MwBundle bundle;
    MwTrustRegion region;
    bool **is_taken;      /* [node][strategy] by an answer, or by the best choice known */
    const int *incumbent; /* that best choice, when it was looked at last */
    double *price;        /* [row] to ask for next */
    int misses;           /* answers since the best prices */
    int *fitting;         /* of the answers not told of yet, the cheapest that keeps the rows */
    double fitting_cost;
    bool repeats;     /* the core consists of equal layers */
    bool is_hard;     /* even the part cannot be solved by elimination */
    bool sharpens;    /* elimination alone is too much for a good answer, */
    bool needs_best;  /* the best answers are asked for, */
    bool is_too_dear; /* or would be, but that is too much */
    bool is_inexact;  /* the last answer need not be the best */
} Lagrange;

static void mark_taken(const Lagrange *lagrange, const int *choice)
{
    for (int i = 0; i < lagrange->core->node_count; i++)
        if (lagrange->core->nodes[i].cost)
            lagrange->is_taken[i][choice[i]] = true;
}

/* Takes in the best choice known, which keeps prices within bounds, and its strategies into the
 * part, which then has a choice that keeps the rows. */
static void take_incumbent(Lagrange *lagrange)
{
    const int *best = lagrange->search->solution->choice;
    if (!best || best == lagrange->incumbent)
        return;
    lagrange->incumbent = best;
    MwArena *scratch = mw_arena_new();
    int *entered = mw_arena_dup(scratch, best, sizeof *best * (size_t)lagrange->core->node_count);
    if (!lagrange->search->root && mw_core_enter(lagrange->core, entered)) {
        mark_taken(lagrange, entered);
        mw_bundle_add(&lagrange->bundle, entered);
    }
    mw_arena_free(&scratch);
}

/* A copy of the core, restricted to what is taken. */
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

/* In the core's units. */
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

/* How high the planes are anywhere. */
static double highest_of_all(const Lagrange *lagrange)
{
    MwArena *scratch = mw_arena_new();
    MwTrustRegion region = lagrange->region;
    region.radius = INFINITY;
    const double highest = mw_bundle_maximise(&lagrange->bundle, &region,
                                              MW_NEW(scratch, double, lagrange->core->row_count));
    mw_arena_free(&scratch);
    return highest;
}

/* Keeps the answer of the last plane if it keeps the rows, and is the cheapest one. */
static void note_fitting(Lagrange *lagrange, const int *choice)
{
    const double cost = lagrange->bundle.at.at[lagrange->bundle.at.count - 1].cost;
    if (!mw_bundle_last_fits(&lagrange->bundle) ||
        (lagrange->fitting && cost >= lagrange->fitting_cost))
        return;
    lagrange->fitting_cost = cost;
    lagrange->fitting =
        mw_arena_dup(lagrange->arena, choice, sizeof *choice * (size_t)lagrange->core->node_count);
}

/* ---- The part ---- */

/* Whether the part is known well enough: all the better, the less it differs from the core. */
static bool is_known(const Lagrange *lagrange, const MwTrustRegion *region, double highest)
{
    return is_near(region->value, highest, MW_TUNED_BUNDLE_GAP) ||
           highest - region->value <=
               MW_TUNED_ROUND_SHARE * (region->value - lagrange->region.value);
}

/* Sets the prices to ask the part for next; false if it has nothing more to say. */
static bool propose_for_restricted(const Lagrange *lagrange, MwTrustRegion *region, double *price)
{
    MwTrustRegion next = *region;
    if (region->value == -INFINITY)
        next.radius = 0;
    region->promised = mw_bundle_maximise(&lagrange->bundle, &next, price);
    if (region->value == -INFINITY || !is_known(lagrange, region, region->promised))
        return true;
    next.radius = INFINITY;
    if (is_known(lagrange, region, mw_bundle_maximise(&lagrange->bundle, &next, price)))
        return false;
    region->radius = 1;
    region->promised = mw_bundle_maximise(&lagrange->bundle, region, price);
    return true;
}

/* Asks the part at the prices; false if it has no answer, or none that is easily found. */
static bool ask_restricted(Lagrange *lagrange, const MwCore *restricted, MwTrustRegion *region,
                           const double *price)
{
    MwArena *scratch = mw_arena_new();
    const int64_t total =
        MW_TUNED_REPEATS * (mw_core_entries_left(restricted) + mw_core_strategies_left(restricted));
    const MwPricingAnswer priced =
        mw_pricing_solve(scratch, restricted, unscaled(scratch, lagrange, restricted, price), total,
                         &lagrange->is_hard, &lagrange->search->stop);
    const bool is_answered =
        priced.choice && mw_core_restore_to(restricted, lagrange->origin, priced.choice);
    if (is_answered) {
        mw_bundle_add(&lagrange->bundle, priced.choice);
        note_fitting(lagrange, priced.choice);
        mw_trust_region_update(region, lagrange->core->row_count, price,
                               mw_bundle_value(&lagrange->bundle, price));
    }
    mw_arena_free(&scratch);
    return is_answered && !lagrange->is_hard;
}

/* The core restricted to what is taken, and reduced if that leaves a choice. */
static const MwCore *make_restricted(MwArena *arena, const Lagrange *lagrange)
{
    const MwReduceLimits shrinking = mw_reduce_shrinking(lagrange->search->stop);
    MwCore *restricted = mw_core_copy_apart(arena, lagrange->origin);
    restrict_to_taken(lagrange, restricted);
    MwCore *reduced = mw_core_copy(arena, restricted);
    mw_reduce(reduced, &shrinking);
    return reduced->infeasible ? restricted : reduced;
}

/* The best prices for the part are those to ask for. */
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
    for (int i = 0; i < MOST_OF_RESTRICTED && !mw_stopped(&lagrange->search->stop); i++)
        if (!propose_for_restricted(lagrange, &region, price) ||
            !ask_restricted(lagrange, restricted, &region, price))
            break;
    if (region.value > -INFINITY) {
        lagrange->region.promised = region.value;
        memcpy(lagrange->price, region.price, bytes);
    }
    mw_arena_free(&scratch);
}

/* ---- The core ---- */

/* Tells the search of the cheapest answer that keeps the rows, with what can be made of it by small
 * changes. */
static void offer(Lagrange *lagrange)
{
    if (!lagrange->fitting)
        return;
    mw_polish(lagrange->core, lagrange->fitting);
    mw_search_offer_of_core(lagrange->search, lagrange->core, lagrange->fitting);
    lagrange->fitting = NULL;
}

/* What is asked, and what is done beside it. */
typedef struct {
    Lagrange *lagrange;
    bool asks_restricted;
    MwPricingAnswer priced;
} Question;

/* Asks the core for its best answer at the prices, as far as that does not take too long. */
static MwPricingAnswer ask_for_best(Lagrange *lagrange, const double *price)
{
    const MwStop *stop = &lagrange->search->stop;
    const MwStop brief = mw_stop_part(stop, MW_TUNED_TIME_SHARE * MW_TUNED_TIME_SHARE);
    const int64_t entries = mw_core_entries_left(lagrange->core);
    return mw_pricing_solve_best(lagrange->arena, lagrange->origin, price,
                                 mw_min(MW_TUNED_REPEATS * entries, MW_MANY_ENTRIES), &brief);
}

/* Asks the core at the prices. */
static MwPricingAnswer ask_core(Lagrange *lagrange)
{
    const double *price = unscaled(lagrange->arena, lagrange, lagrange->core, lagrange->price);
    MwPricingAnswer priced = {0};
    lagrange->is_inexact = false;
    if (lagrange->needs_best)
        priced = ask_for_best(lagrange, price);
    if (priced.choice || priced.infeasible)
        return priced;
    lagrange->is_too_dear |= lagrange->needs_best;
    lagrange->needs_best = false;
    /* A good answer is worth half of a visit of all tables. */
    priced = mw_pricing_solve(lagrange->arena, lagrange->origin, price,
                              mw_core_entries_left(lagrange->core) / 2, &lagrange->sharpens,
                              &lagrange->search->stop);
    lagrange->is_inexact = lagrange->sharpens;
    return priced;
}

static void take_side(void *context, int side)
{
    Question *question = context;
    Lagrange *lagrange = question->lagrange;
    if (side == 1) {
        /* An answer takes about as long as ten iterations of the ascent. */
        const int64_t work = 10 * MW_TUNED_IMPROVE_WORK * mw_core_entries_left(lagrange->core);
        if (lagrange->beside)
            lagrange->beside(lagrange->search, work + 1);
        return;
    }
    if (question->asks_restricted)
        maximise_restricted(lagrange);
    question->priced = ask_core(lagrange);
}

/* Whether an answer says no more than how hard it is to find a good one. */
static bool is_vague(const MwPricingAnswer *priced)
{
    return (double)(priced->cost - priced->bound) > MW_NEAR_OPTIMAL * fabs((double)priced->cost);
}

/* False if it was nothing new. */
static bool take_answer(Lagrange *lagrange, const MwPricingAnswer *priced)
{
    const int rows = lagrange->core->row_count;
    const double before = mw_bundle_value(&lagrange->bundle, lagrange->price);
    bool is_new = mw_bundle_add(&lagrange->bundle, priced->choice);
    is_new |=
        !is_near(mw_bundle_value(&lagrange->bundle, lagrange->price), before, MW_TUNED_BUNDLE_GAP);
    note_fitting(lagrange, priced->choice);
    offer(lagrange);
    mark_taken(lagrange, priced->choice);
    mw_search_raise_bound(lagrange->search, lagrange->core, priced->bound);
    const double value = (double)priced->bound / lagrange->bundle.cost_unit;
    lagrange->misses = value > lagrange->region.value ? 0 : lagrange->misses + 1;
    mw_trust_region_update(&lagrange->region, rows, lagrange->price, value);
    return is_new;
}

/* Sets the prices to ask for if the part is not asked. True if it may be: no price was cut off. */
static bool propose(Lagrange *lagrange)
{
    MwBundle *bundle = &lagrange->bundle;
    MwTrustRegion anywhere = lagrange->region;
    anywhere.radius = INFINITY;
    double dearest = 0, highest = mw_bundle_maximise(bundle, &anywhere, lagrange->price);
    for (int row = 0; row < lagrange->core->row_count; row++)
        dearest = fmax(dearest, lagrange->price[row]);
    lagrange->region.promised = highest;
    if (dearest < bundle->cap || bundle->cap >= bundle->most) {
        lagrange->region.promised = mw_bundle_maximise(bundle, &lagrange->region, lagrange->price);
        return true;
    }
    if (lagrange->misses == 0 || is_near(lagrange->region.value, highest, MW_TUNED_BUNDLE_GAP))
        bundle->cap = fmin(bundle->most, bundle->cap / MW_TUNED_PRICE_CAP);
    return false;
}

/* Whether to go on after an answer that is not the best one. Where such answers bring nothing new,
 * the best ones are worth what they cost. */
static bool goes_on_inexactly(Lagrange *lagrange, const MwPricingAnswer *priced, bool is_new)
{
    if (!lagrange->repeats)
        return lagrange->misses == 0 || !is_vague(priced);
    if (is_new)
        return true;
    lagrange->needs_best = !lagrange->is_too_dear && !lagrange->search->options->quick;
    return lagrange->needs_best;
}

/* Asks the core at the best prices known of; false if nothing more is to be had from that. */
static bool ask(Lagrange *lagrange)
{
    MwSearch *search = lagrange->search;
    MwArena *scratch = mw_arena_new();
    take_incumbent(lagrange);
    const bool may_look = lagrange->repeats && lagrange->region.value > -INFINITY;
    Question question = {.lagrange = lagrange};
    question.asks_restricted = propose(lagrange) && may_look;
    mw_parallel(search->options->threads, 2, take_side, &question);
    const MwPricingAnswer *priced = &question.priced;
    if (priced->infeasible)
        mw_search_exhaust(search);
    const bool is_new = priced->choice && take_answer(lagrange, priced);
    const bool is_done =
        !priced->choice || lagrange->is_hard ||
        is_near(lagrange->region.value, highest_of_all(lagrange), MW_TUNED_BUNDLE_GAP) ||
        (lagrange->is_inexact && !goes_on_inexactly(lagrange, priced, is_new));
    const double *best = unscaled(scratch, lagrange, lagrange->core, lagrange->region.price);
    for (int row = 0; row < lagrange->core->row_count; row++)
        lagrange->core->price[row] = best[row];
    if (search->improver)
        mw_improver_set_prices(search->improver, lagrange->core, best);
    mw_search_log(search, lagrange->core, "price");
    mw_arena_free(&scratch);
    return !is_done;
}

/* Asks until nothing more is to be had, or there is not much time left. False if there are no
 * answers. */
static bool climb(Lagrange *lagrange)
{
    const MwSearch *search = lagrange->search;
    const double rest_s = MW_TUNED_TIME_SHARE * mw_stop_left_s(&search->stop);
    const int64_t most_planes = MOST_NUMBERS / mw_max(1, lagrange->core->row_count);
    int answers = 0;
    while (answers < MOST_ANSWERS && lagrange->bundle.at.count < most_planes &&
           mw_stop_left_s(&search->stop) >= rest_s && !mw_stopped(&search->stop) &&
           !mw_search_done(search)) {
        answers++;
        if (!ask(lagrange))
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
    lagrange.repeats =
        MW_TUNED_REPEATS * mw_core_distinct_entries(core) <= mw_core_entries_left(core);
    const MwCost bound = (MwCost)ldexp((double)search->solution->lower_bound, core->scale);
    lagrange.bundle = mw_bundle_new(arena, core, bound, search->problem->usage_limit);
    return lagrange;
}

/* What is good without prices, of which only the plane counts. */
static void add_unpriced(Lagrange *lagrange, const int *choice)
{
    if (lagrange->search->root)
        mw_bundle_add(&lagrange->bundle, choice);
    else
        mw_bundle_add_of_problem(&lagrange->bundle, lagrange->search->problem, choice);
}

MwCore *mw_lagrange(MwSearch *search, MwCore *core, const int *unpriced,
                    void (*beside)(MwSearch *search, int64_t work))
{
    MwArena *arena = mw_arena_new();
    Lagrange lagrange = begin(arena, search, core);
    lagrange.beside = beside;
    add_unpriced(&lagrange, unpriced);
    MwCore *restricted = NULL;
    if (climb(&lagrange) && !mw_search_done(search)) {
        restricted = mw_core_copy(search->scratch, core);
        restrict_to_taken(&lagrange, restricted);
    }
    mw_arena_free(&arena);
    return restricted;
}
