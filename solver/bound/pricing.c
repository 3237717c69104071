/* SPDX-License-Identifier: GPL-3.0-or-later */
/* At given prices the rows go away (fixed_price.c), usage no longer holds up elimination, and equal
 * layers are one layer's work. Where elimination is too much, sweeps for potentials take away what
 * is in no best choice, as long as that shrinks the core; layers are then not equal any more, but
 * little is left of them. What comes of it is a bound and a choice in any case. */
#include "solver/bound/pricing.h"

#include "solver/bound/ascent.h"
#include "solver/bound/certify.h"
#include "solver/core/fixed_price.h"
#include "solver/reduce/reduce.h"
#include "solver/tuning.h"

typedef struct {
    MwArena *arena;
    const MwCore *core;
    MwCore *relaxed;
    const MwStop *stop;
    MwPricingAnswer *priced;
} Pricing;

static bool is_solved(const MwCore *relaxed)
{
    return relaxed->infeasible || mw_core_nodes_left(relaxed) == 0;
}

/* Takes a choice of what is left. */
static void take(Pricing *pricing, const int *choice, MwCost cost)
{
    MwPricingAnswer *priced = pricing->priced;
    if (priced->choice && cost >= priced->cost)
        return;
    priced->cost = cost;
    priced->choice =
        mw_arena_dup(pricing->arena, choice, sizeof *choice * (size_t)pricing->relaxed->node_count);
    mw_core_restore_to(pricing->relaxed, pricing->core, priced->choice);
}

/* One round of it; false if another one is not worth it. */
static bool sharpen(Pricing *pricing)
{
    MwCore *relaxed = pricing->relaxed;
    MwPricingAnswer *priced = pricing->priced;
    MwArena *scratch = mw_arena_new();
    MwCoreBest best = {.cost = priced->choice ? priced->cost : MW_CORE_NONE};
    const MwAscentLimits limits = {.iterations = MW_TUNED_ITERATIONS, .stop = *pricing->stop};
    const int64_t before = mw_core_strategies_left(relaxed);
    double pace = 1;
    MwDual *dual = mw_ascend(scratch, relaxed, relaxed->price, &pace, &best, &limits);
    if (best.choice)
        take(pricing, best.choice, best.cost);
    if (priced->choice)
        priced->bound = mw_max(priced->bound, mw_dual_apply(dual, relaxed, priced->cost + 1));
    mw_arena_free(&scratch);
    return priced->choice && mw_reduce_goes_on(before, mw_core_strategies_left(relaxed));
}

/* As long as that shrinks the core. */
static void sharpen_all(Pricing *pricing)
{
    const MwReduceLimits shrinking = mw_reduce_shrinking(*pricing->stop);
    mw_reduce(pricing->relaxed, &shrinking);
    while (!is_solved(pricing->relaxed) && !mw_stopped(pricing->stop) && sharpen(pricing))
        mw_reduce(pricing->relaxed, &shrinking);
}

/* False if that is too much work. */
static bool eliminate(Pricing *pricing, int64_t total)
{
    const MwReduceLimits limits = {
        .arity = MW_TABLE_ARITY, .entries = total, .total = total, .stop = *pricing->stop};
    mw_reduce(pricing->relaxed, &limits);
    return is_solved(pricing->relaxed);
}

static void finish(Pricing *pricing)
{
    MwArena *scratch = mw_arena_new();
    const MwCore *relaxed = pricing->relaxed;
    pricing->priced->infeasible = relaxed->infeasible;
    if (!relaxed->infeasible) {
        take(pricing, MW_NEW(scratch, int, relaxed->node_count), relaxed->constant);
        pricing->priced->bound = relaxed->constant;
    }
    mw_arena_free(&scratch);
}

/* On a copy of the core; true if it is solved. */
static bool attempt(Pricing *pricing, const double *price, int64_t total, bool sharpens)
{
    MwArena *scratch = mw_arena_new();
    pricing->relaxed = mw_core_copy_apart(scratch, pricing->core);
    bool solved = mw_core_pay(pricing->relaxed, price);
    if (solved) {
        if (sharpens)
            sharpen_all(pricing);
        /* What sharpening has taken away need not be eliminated. */
        solved = eliminate(pricing, sharpens ? total / 4 : total);
    }
    if (solved)
        finish(pricing);
    mw_arena_free(&scratch);
    return solved;
}

MwPricingAnswer mw_pricing_solve_best(MwArena *arena, const MwCore *core, const double *price,
                                      int64_t total, const MwStop *stop)
{
    MwPricingAnswer priced = {.bound = -MW_CORE_NONE};
    Pricing pricing = {.arena = arena, .core = core, .stop = stop, .priced = &priced};
    attempt(&pricing, price, total, false);
    return priced;
}

MwPricingAnswer mw_pricing_solve(MwArena *arena, const MwCore *core, const double *price,
                                 int64_t total, bool *sharpens, const MwStop *stop)
{
    MwPricingAnswer priced = {.bound = -MW_CORE_NONE};
    if (!*sharpens)
        priced = mw_pricing_solve_best(arena, core, price, total, stop);
    if (priced.choice || priced.infeasible)
        return priced;
    *sharpens = true;
    Pricing pricing = {.arena = arena, .core = core, .stop = stop, .priced = &priced};
    attempt(&pricing, price, total, true);
    return priced;
}
