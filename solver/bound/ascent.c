/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dual ascent: message-passing sweeps for the potentials, and the volume algorithm for the
 * prices. Its direction is an average of the subgradients so far, and its steps start from the
 * best prices (Barahona and Anbil, The volume algorithm: producing primal solutions with a
 * subgradient method, Mathematical Programming 87, 2000). A plain subgradient method diverges
 * on problems of this kind. */
#include "solver/bound/ascent.h"

#include "solver/bound/certify.h"
#include "solver/bound/decode.h"
#include "solver/bound/polish.h"
#include "solver/bound/sweep.h"
#include "solver/tuning.h"

#include <math.h>
#include <string.h>

/* The greatest fraction of the gap that a step tries to close. Subgradient steps beyond twice the
 * gap need not come nearer to the best prices (Polyak, Minimization of unsmooth functionals, USSR
 * Computational Mathematics and Mathematical Physics 9, 1969). */
static const double GREATEST_STEP_SCALE = 2;

/* The least step scale: what it could gain is lost in rounding errors of the bound. */
static const double LEAST_STEP_SCALE = 1e-6;

/* The most by which a step changes the logarithm of a price. */
static const double GREATEST_EXPONENT = 1;

/* Number of bisections that find the exponent of a step: its relative precision is 2^-HALVINGS. */
enum { HALVINGS = 40 };

struct MwAscent {
    const MwCore *core;
    MwDual *dual;
    MwDualState *state; /* state of the best bound */
    MwIncumbent *best;
    double bound;             /* best bound so far */
    double earlier_bound;     /* best bound MW_TUNED_ASCENT_PATIENCE iterations ago */
    double bound_before_step; /* best bound before the last step of the prices */
    double current_bound;     /* bound after the last iteration */
    double rise;              /* what the last iteration added to it */
    int following;            /* iterations since the last step */
    double *direction;        /* [row] averaged excess, as a fraction of the limit */
    double weight;            /* weight of the next excess in that average */
    double *excess, *next_price;
    double gap_wanted;
    bool bound_only;
    double step_scale; /* fraction of the gap that a step tries to close */
    double aimed_gain; /* first-order gain that the last step aimed for */
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
    MwIncumbent *best = ascent->best;
    bool legal = mw_ascent_decode(ascent, choice) && mw_core_allows(core, choice);
    MwCost cost = mw_core_cost(core, choice);
    if (legal && cost < best->cost) {
        best->cost = cost;
        best->choice =
            mw_arena_dup(ascent->dual->arena, choice, sizeof *choice * (size_t)core->node_count);
    }
    mw_arena_free(&scratch);
}

/* Returns how much the bound can still rise; an estimate as long as no choice is known. */
static double gap(const MwAscent *ascent)
{
    if (ascent->best->cost < MW_ABOVE_ANY_COST)
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

/* Sets the first prices: proportional to the excess, so that the first-order gain is the one aimed
 * for. */
static void set_first_prices(MwAscent *ascent)
{
    double norm = 0;
    for (int row = 0; row < ascent->core->row_count; row++)
        norm += pow(fmax(0, ascent->direction[row]), 2);
    for (int row = 0; row < ascent->core->row_count && norm > 0; row++)
        ascent->next_price[row] =
            ascent->aimed_gain / norm * fmax(0, ascent->direction[row]) / full_limit(ascent, row);
}

/* Multiplies every price by exp(power * averaged excess). A price that is to rise begins at `least`
 * (for the whole limit). Returns the first-order gain. */
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

/* Chooses the exponent for which the first-order gain is the one aimed for, up to
 * GREATEST_EXPONENT. */
static void set_next_prices(MwAscent *ascent, double total)
{
    double least = MW_TUNED_FIRST_PRICE * total / ascent->core->row_count,
           greatest = greatest_excess(ascent);
    double low = 0, high = greatest > 0 ? GREATEST_EXPONENT / greatest : 0;
    if (scale_prices(ascent, high, least) <= ascent->aimed_gain)
        return;
    for (int halving = 0; halving < HALVINGS; halving++) {
        double power = (low + high) / 2;
        if (scale_prices(ascent, power, least) > ascent->aimed_gain)
            high = power;
        else
            low = power;
    }
}

/* Steps from the best prices in the averaged direction. Prices are scaled, not shifted
 * (exponentiated gradients: Kivinen and Warmuth, Exponentiated gradient versus gradient descent for
 * linear predictors, Information and Computation 132, 1997): of hundreds of rows that exceed their
 * limits together, few have a price at the best bound, and a shift would spread the price over all
 * of them. Usage is measured in units of the row's limit, which makes the step independent of
 * units. */
static void step_prices(MwAscent *ascent)
{
    double total = 0;
    average_excess(ascent);
    ascent->bound_before_step = ascent->bound;
    ascent->aimed_gain = ascent->step_scale * fmin(gap(ascent), mw_dual_step_gap(ascent->bound));
    for (int row = 0; row < ascent->core->row_count; row++)
        total += ascent->state->price[row] * full_limit(ascent, row);
    if (total > 0)
        set_next_prices(ascent, total);
    else
        set_first_prices(ascent);
    mw_dual_set_prices(ascent->dual, ascent->next_price);
    ascent->following = 0;
}

/* Sets the length of the next step by the gain of the last one. A step that gained most of what it
 * aimed for is followed by a longer one. After a step that gained almost nothing, the next one is
 * shortened to the maximum of the parabola through the aimed and the actual gain. If the bound has
 * fallen by more than the gap, the best state is restored. */
static void adapt_step_scale(MwAscent *ascent)
{
    const double gained = ascent->current_bound - ascent->bound_before_step,
                 aimed_gain = ascent->aimed_gain;
    if (2 * gained > aimed_gain)
        ascent->step_scale *= MW_TUNED_STEP_RISE;
    else if (gained < MW_TUNED_ROUND_SHARE * aimed_gain)
        ascent->step_scale *= fmax(MW_TUNED_ROUND_SHARE, aimed_gain / (2 * (aimed_gain - gained)));
    ascent->step_scale = fmax(LEAST_STEP_SCALE, fmin(ascent->step_scale, GREATEST_STEP_SCALE));
    if (ascent->current_bound < ascent->bound - gap(ascent)) {
        mw_dual_load(ascent->dual, ascent->state);
        ascent->current_bound = ascent->bound;
    }
}

/* Potentials need some iterations to follow the prices; a step is judged after that. */
static void move_prices(MwAscent *ascent)
{
    if (++ascent->following < MW_TUNED_FOLLOW_ROUNDS &&
        ascent->rise > MW_TUNED_ROUND_SHARE * gap(ascent))
        return;
    adapt_step_scale(ascent);
    step_prices(ascent);
}

static void update_bound(MwAscent *ascent)
{
    double bound = mw_dual_bound(ascent->dual);
    ascent->rise = bound - ascent->current_bound;
    ascent->current_bound = bound;
    if (bound > ascent->bound) {
        ascent->bound = bound;
        mw_dual_save(ascent->dual, ascent->state);
    }
}

/* Says whether another iteration is worth its time: the bound still rises, and fixing would not
 * remove most strategies. */
static bool is_rising(MwAscent *ascent)
{
    if (ascent->dual->fixable_count > MW_TUNED_CUT_SHARE * (double)ascent->dual->strategy_count ||
        (ascent->best->cost < MW_ABOVE_ANY_COST &&
         gap(ascent) <= ascent->gap_wanted * (double)ascent->best->cost))
        return false;
    if (ascent->iteration % MW_TUNED_ASCENT_PATIENCE != 0)
        return true;
    bool rises = ascent->bound > ascent->earlier_bound + MW_VISIBLE_RISE * gap(ascent);
    ascent->earlier_bound = ascent->bound;
    return rises;
}

MwAscent *mw_ascent_new(MwArena *arena, const MwCore *core, const double *price, double step_scale)
{
    MwAscent *ascent = MW_NEW(arena, MwAscent, 1);
    *ascent = (MwAscent){.core = core, .step_scale = step_scale, .weight = 1};
    ascent->bound = ascent->earlier_bound = ascent->current_bound = -INFINITY;
    ascent->dual = mw_dual_new(arena, core, price);
    ascent->state = mw_dual_new_state(arena, ascent->dual);
    ascent->direction = MW_NEW(arena, double, core->row_count);
    ascent->excess = MW_NEW(arena, double, core->row_count);
    ascent->next_price = MW_NEW(arena, double, core->row_count);
    return ascent;
}

bool mw_ascent_run(MwAscent *ascent, MwIncumbent *best, const MwAscentLimits *limits)
{
    ascent->best = best;
    ascent->gap_wanted = limits->gap;
    ascent->bound_only = limits->bound_only;
    const int64_t entries = mw_core_entries_left(ascent->core) + mw_core_nodes_left(ascent->core);
    for (int i = 0; i < limits->iterations; i++) {
        ascent->iteration++;
        ascent->dual->fixing_gap = best->cost < MW_ABOVE_ANY_COST ? gap(ascent) : INFINITY;
        mw_dual_sweep(ascent->dual, true);
        mw_dual_sweep(ascent->dual, false);
        mw_stop_count(&limits->stop, 2 * entries);
        update_bound(ascent);
        if (ascent->iteration % MW_TUNED_DECODE_EVERY == 0)
            try_choice(ascent);
        if (!is_rising(ascent) || mw_stopped(&limits->stop))
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

MwDual *mw_ascent_end(MwAscent *ascent, MwIncumbent *best, double *price, double *step_scale)
{
    ascent->best = best;
    mw_dual_load(ascent->dual, ascent->state);
    try_choice(ascent);
    for (int row = 0; row < ascent->core->row_count; row++)
        price[row] = ascent->dual->price[row];
    *step_scale = ascent->step_scale;
    return ascent->dual;
}

MwDual *mw_ascend(MwArena *arena, const MwCore *core, double *price, double *step_scale,
                  MwIncumbent *best, const MwAscentLimits *limits)
{
    MwAscent *ascent = mw_ascent_new(arena, core, price, *step_scale);
    mw_ascent_run(ascent, best, limits);
    return mw_ascent_end(ascent, best, price, step_scale);
}
