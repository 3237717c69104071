/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raising the bound: sweeps for the potentials, and for the prices the volume algorithm, whose
 * direction is an average of the subgradients so far and whose steps start from the best prices
 * (Barahona and Anbil, The volume algorithm: producing primal solutions with a subgradient method,
 * Mathematical Programming 87, 2000). A plain subgradient diverges on problems of this kind. */
#include "solver/bound/ascent.h"

#include "solver/bound/certify.h"
#include "solver/bound/decode.h"
#include "solver/bound/polish.h"
#include "solver/bound/sweep.h"
#include "solver/tuning.h"

#include <math.h>
#include <string.h>

/* The greatest fraction of the gap that a step tries to close: beyond twice the gap, subgradient
 * steps need not come nearer to the best prices (Polyak, Minimization of unsmooth functionals,
 * USSR Computational Mathematics and Mathematical Physics 9, 1969). */
static const double LONGEST_PACE = 2;

/* The least one: what it could gain is lost in rounding errors of the bound. */
static const double SHORTEST_PACE = 1e-6;

/* A step changes the logarithm of a price by at most this. */
static const double GREATEST_EXPONENT = 1;

/* The power of a step is found to 2 to the minus so many: the relative precision of the step. */
enum { HALVINGS = 40 };

struct MwAscent {
    const MwCore *core;
    MwDual *dual;
    MwDualState *state; /* of the best bound */
    MwCoreBest *best;
    double bound;      /* the best, */
    double mark;       /* that of MW_TUNED_ASCENT_PATIENCE iterations ago, */
    double base;       /* and that before the last step of the prices */
    double last, rise; /* the bound after the last iteration, and what it gained */
    int following;     /* iterations since the last step */
    double *direction; /* [row] averaged excess, in limits */
    double weight;     /* of the next excess in that average */
    double *excess, *next_price;
    double gap_wanted;
    bool bound_only;
    double pace;  /* fraction of the gap that a step tries to close */
    double hoped; /* what the last step was to gain */
    int iteration;
};

bool mw_ascent_decode(const MwAscent *ascent, int *choice)
{
    mw_dual_decode(ascent->dual, choice);
    mw_polish(ascent->core, choice);
    return mw_core_fits(ascent->core, choice);
}

static void try_choice(MwAscent *ascent)
{
    if (ascent->bound_only)
        return;
    MwArena *scratch = mw_arena_new();
    const MwCore *core = ascent->core;
    int *choice = MW_NEW(scratch, int, core->node_count);
    MwCoreBest *best = ascent->best;
    bool legal = mw_ascent_decode(ascent, choice) && mw_core_allows(core, choice);
    MwCost cost = mw_core_cost(core, choice);
    if (legal && cost < best->cost) {
        best->cost = cost;
        best->choice =
            mw_arena_dup(ascent->dual->arena, choice, sizeof *choice * (size_t)core->node_count);
    }
    mw_arena_free(&scratch);
}

/* What the bound may still rise by; a guess as long as no choice is known. */
static double gap(const MwAscent *ascent)
{
    if (ascent->best->cost < MW_CORE_NONE)
        return fmax(0, (double)ascent->best->cost - ascent->bound);
    return mw_dual_step_gap(ascent->bound);
}

static double full_limit(const MwAscent *ascent, int row)
{
    return fmax(1, (double)ascent->core->limit[row]);
}

static void average_excess(MwAscent *ascent)
{
    mw_dual_excess(ascent->dual, ascent->excess);
    for (int row = 0; row < ascent->core->row_count; row++) {
        double *average = &ascent->direction[row];
        *average += ascent->weight * (ascent->excess[row] / full_limit(ascent, row) - *average);
    }
    ascent->weight = MW_TUNED_AVERAGING;
}

/* Where nothing has a price yet: in proportion to the excess, so that the first order gain is what
 * is hoped for. */
static void set_first_prices(MwAscent *ascent)
{
    double norm = 0;
    for (int row = 0; row < ascent->core->row_count; row++)
        norm += pow(fmax(0, ascent->direction[row]), 2);
    for (int row = 0; row < ascent->core->row_count && norm > 0; row++)
        ascent->next_price[row] =
            ascent->hoped / norm * fmax(0, ascent->direction[row]) / full_limit(ascent, row);
}

/* Every price times exp(power * averaged excess); one that is to rise begins at `least` (for the
 * whole limit). Gives the first order gain. */
static double scale_prices(MwAscent *ascent, double power, double least)
{
    double gain = 0;
    for (int row = 0; row < ascent->core->row_count; row++) {
        double limit = full_limit(ascent, row), excess = ascent->direction[row];
        double now = ascent->state->price[row] * limit;
        double next = (excess > 0 ? fmax(now, least) : now) * exp(power * excess);
        gain += (next - now) * excess;
        ascent->next_price[row] = next / limit;
    }
    return gain;
}

static double greatest_excess(const MwAscent *ascent)
{
    double greatest = 0;
    for (int row = 0; row < ascent->core->row_count; row++)
        greatest = fmax(greatest, fabs(ascent->direction[row]));
    return greatest;
}

/* With the power that makes the first order gain what is hoped for, within reason. */
static void set_next_prices(MwAscent *ascent, double total)
{
    double least = MW_TUNED_FIRST_PRICE * total / ascent->core->row_count,
           greatest = greatest_excess(ascent);
    double low = 0, high = greatest > 0 ? GREATEST_EXPONENT / greatest : 0;
    if (scale_prices(ascent, high, least) <= ascent->hoped)
        return;
    for (int halving = 0; halving < HALVINGS; halving++) {
        double power = (low + high) / 2;
        if (scale_prices(ascent, power, least) > ascent->hoped)
            high = power;
        else
            low = power;
    }
}

/* From the best prices in the averaged direction. Prices are scaled, not shifted (exponentiated
 * gradients: Kivinen and Warmuth, Exponentiated gradient versus gradient descent for linear
 * predictors, Information and Computation 132, 1997): of hundreds of rows that exceed their limits
 * together, few have a price at the best bound, and shifting would smear it over all. Usages are
 * weighed by the row's limit, so that units do not matter. */
static void step_prices(MwAscent *ascent)
{
    double total = 0;
    average_excess(ascent);
    ascent->base = ascent->bound;
    ascent->hoped = ascent->pace * fmin(gap(ascent), mw_dual_step_gap(ascent->bound));
    for (int row = 0; row < ascent->core->row_count; row++)
        total += ascent->state->price[row] * full_limit(ascent, row);
    if (total > 0)
        set_next_prices(ascent, total);
    else
        set_first_prices(ascent);
    mw_dual_set_prices(ascent->dual, ascent->next_price);
    ascent->following = 0;
}

/* Lengthens the steps if the last one gained most of what it was to gain. Where it gained next
 * to nothing, shortens them to where the parabola through what was hoped and what came has its
 * top; and if the potentials have gone far astray, takes them back. */
static void judge_step(MwAscent *ascent)
{
    const double gained = ascent->last - ascent->base, hoped = ascent->hoped;
    if (2 * gained > hoped)
        ascent->pace *= MW_TUNED_PACE_RISE;
    else if (gained < MW_TUNED_ROUND_SHARE * hoped)
        ascent->pace *= fmax(MW_TUNED_ROUND_SHARE, hoped / (2 * (hoped - gained)));
    ascent->pace = fmax(SHORTEST_PACE, fmin(ascent->pace, LONGEST_PACE));
    if (ascent->last < ascent->bound - gap(ascent)) {
        mw_dual_load(ascent->dual, ascent->state);
        ascent->last = ascent->bound;
    }
}

/* Potentials need some iterations to follow the prices; a step is judged after that. */
static void move_prices(MwAscent *ascent)
{
    if (++ascent->following < MW_TUNED_FOLLOW_ROUNDS &&
        ascent->rise > MW_TUNED_ROUND_SHARE * gap(ascent))
        return;
    judge_step(ascent);
    step_prices(ascent);
}

static void note_bound(MwAscent *ascent)
{
    double bound = mw_dual_bound(ascent->dual);
    ascent->rise = bound - ascent->last;
    ascent->last = bound;
    if (bound > ascent->bound) {
        ascent->bound = bound;
        mw_dual_save(ascent->dual, ascent->state);
    }
}

/* Whether another iteration is worth it: not if cutting would take away most strategies, nor if the
 * bound has stopped rising. */
static bool rising(MwAscent *ascent)
{
    if (ascent->dual->surplus_count > MW_TUNED_CUT_SHARE * (double)ascent->dual->strategy_count ||
        (ascent->best->cost < MW_CORE_NONE &&
         gap(ascent) <= ascent->gap_wanted * (double)ascent->best->cost))
        return false;
    if (ascent->iteration % MW_TUNED_ASCENT_PATIENCE != 0)
        return true;
    bool rises = ascent->bound > ascent->mark + MW_VISIBLE_RISE * gap(ascent);
    ascent->mark = ascent->bound;
    return rises;
}

MwAscent *mw_ascent_new(MwArena *arena, const MwCore *core, const double *price, double pace)
{
    MwAscent *ascent = MW_NEW(arena, MwAscent, 1);
    *ascent = (MwAscent){.core = core, .pace = pace, .weight = 1};
    ascent->bound = ascent->mark = ascent->last = -INFINITY;
    ascent->dual = mw_dual_new(arena, core, price);
    ascent->state = mw_dual_new_state(arena, ascent->dual);
    ascent->direction = MW_NEW(arena, double, core->row_count);
    ascent->excess = MW_NEW(arena, double, core->row_count);
    ascent->next_price = MW_NEW(arena, double, core->row_count);
    return ascent;
}

bool mw_ascent_run(MwAscent *ascent, MwCoreBest *best, const MwAscentLimits *limits)
{
    ascent->best = best;
    ascent->gap_wanted = limits->gap;
    ascent->bound_only = limits->bound_only;
    for (int i = 0; i < limits->iterations; i++) {
        ascent->iteration++;
        ascent->dual->surplus = best->cost < MW_CORE_NONE ? gap(ascent) : INFINITY;
        mw_dual_sweep(ascent->dual, true);
        mw_dual_sweep(ascent->dual, false);
        note_bound(ascent);
        if (ascent->iteration % MW_TUNED_DECODE_EVERY == 0)
            try_choice(ascent);
        if (!rising(ascent) || mw_stopped(&limits->stop))
            return false;
        if (ascent->core->row_count > 0) {
            move_prices(ascent);
        }
    }
    return true;
}

MwCost mw_ascent_certify(const MwAscent *ascent)
{
    return mw_dual_certify(ascent->dual);
}

const double *mw_ascent_price(const MwAscent *ascent)
{
    return ascent->state->price;
}

MwDual *mw_ascent_end(MwAscent *ascent, MwCoreBest *best, double *price, double *pace)
{
    ascent->best = best;
    mw_dual_load(ascent->dual, ascent->state);
    try_choice(ascent);
    for (int row = 0; row < ascent->core->row_count; row++)
        price[row] = ascent->dual->price[row];
    *pace = ascent->pace;
    return ascent->dual;
}

MwDual *mw_ascend(MwArena *arena, const MwCore *core, double *price, double *pace, MwCoreBest *best,
                  const MwAscentLimits *limits)
{
    MwAscent *ascent = mw_ascent_new(arena, core, price, *pace);
    mw_ascent_run(ascent, best, limits);
    return mw_ascent_end(ascent, best, price, pace);
}
