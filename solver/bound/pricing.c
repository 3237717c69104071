/* SPDX-License-Identifier: GPL-3.0-or-later */
/* At given prices the rows disappear (fixed_price.c), so usage no longer prevents elimination, and
 * equal layers are computed once. If elimination needs too many entries, reduced-cost fixing by
 * dual ascent removes strategies as long as that shrinks the core; layers are then no longer equal,
 * but little is left of them. The result is a bound and a choice in any case. */
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
    MwPricingAnswer *answer;
} Pricing;

static bool is_solved(const MwCore *relaxed)
{
    return relaxed->infeasible || mw_core_nodes_left(relaxed) == 0;
}

/* Keeps a choice of what is left if it is cheaper. */
static void keep_if_cheaper(Pricing *pricing, const int *choice, MwCost cost)
{
    MwPricingAnswer *answer = pricing->answer;
    if (answer->choice && cost >= answer->cost)
        return;
    answer->cost = cost;
    answer->choice =
        mw_arena_dup(pricing->arena, choice, sizeof *choice * (size_t)pricing->relaxed->node_count);
    mw_core_restore_to(pricing->relaxed, pricing->core, answer->choice);
}

/* Runs one round of ascent and fixing. Returns false if another round is not worth its time. */
static bool fix_and_reduce(Pricing *pricing)
{
    MwCore *relaxed = pricing->relaxed;
    MwPricingAnswer *answer = pricing->answer;
    MwArena *scratch = mw_arena_new();
    MwIncumbent best = {.cost = answer->choice ? answer->cost : MW_ABOVE_ANY_COST};
    const MwAscentLimits limits = {.iterations = MW_TUNED_ITERATIONS, .stop = *pricing->stop};
    const int64_t before = mw_core_strategies_left(relaxed);
    double step_scale = 1;
    MwDual *dual = mw_ascend(scratch, relaxed, relaxed->price, &step_scale, &best, &limits);
    if (best.choice)
        keep_if_cheaper(pricing, best.choice, best.cost);
    if (answer->choice)
        answer->bound = mw_max(answer->bound, mw_dual_apply(dual, relaxed, answer->cost + 1));
    mw_arena_free(&scratch);
    return answer->choice && mw_reduce_goes_on(before, mw_core_strategies_left(relaxed));
}

/* Repeats rounds of fixing and reductions as long as they shrink the core. */
static void fix_repeatedly(Pricing *pricing)
{
    const MwReduceLimits shrinking = mw_reduce_shrinking(*pricing->stop);
    mw_reduce(pricing->relaxed, &shrinking);
    while (!is_solved(pricing->relaxed) && !mw_stopped(pricing->stop) && fix_and_reduce(pricing))
        mw_reduce(pricing->relaxed, &shrinking);
}

/* Eliminates all nodes. Returns false if that takes too many entries. */
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
    pricing->answer->infeasible = relaxed->infeasible;
    if (!relaxed->infeasible) {
        keep_if_cheaper(pricing, MW_NEW(scratch, int, relaxed->node_count), relaxed->constant);
        pricing->answer->bound = relaxed->constant;
    }
    mw_arena_free(&scratch);
}

/* Solves a copy of the core at the prices. Returns true if it is solved. */
static bool solve_copy(Pricing *pricing, const double *price, int64_t total, bool uses_fixing)
{
    MwArena *scratch = mw_arena_new();
    pricing->relaxed = mw_core_copy_independent(scratch, pricing->core);
    bool solved = mw_core_relax_rows(pricing->relaxed, price);
    if (solved) {
        if (uses_fixing)
            fix_repeatedly(pricing);
        /* What fixing has removed is not eliminated: a quarter of the work is enough. */
        solved = eliminate(pricing, uses_fixing ? total / 4 : total);
    }
    if (solved)
        finish(pricing);
    mw_arena_free(&scratch);
    return solved;
}

MwPricingAnswer mw_pricing_solve_optimally(MwArena *arena, const MwCore *core, const double *price,
                                           int64_t total, const MwStop *stop)
{
    MwPricingAnswer answer = {.bound = -MW_ABOVE_ANY_COST};
    Pricing pricing = {.arena = arena, .core = core, .stop = stop, .answer = &answer};
    solve_copy(&pricing, price, total, false);
    return answer;
}

MwPricingAnswer mw_pricing_solve(MwArena *arena, const MwCore *core, const double *price,
                                 int64_t total, bool *uses_fixing, const MwStop *stop)
{
    MwPricingAnswer answer = {.bound = -MW_ABOVE_ANY_COST};
    if (!*uses_fixing)
        answer = mw_pricing_solve_optimally(arena, core, price, total, stop);
    if (answer.choice || answer.infeasible)
        return answer;
    *uses_fixing = true;
    Pricing pricing = {.arena = arena, .core = core, .stop = stop, .answer = &answer};
    solve_copy(&pricing, price, total, true);
    return answer;
}
