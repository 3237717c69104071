/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raising the bound: sweeps for the potentials, and for the prices the volume algorithm, whose
 * direction is an average of the subgradients so far and whose steps start from the best prices
 * (Barahona and Anbil, The volume algorithm: producing primal solutions with a subgradient method,
 * Mathematical Programming 87, 2000). A plain subgradient diverges on problems of this kind. */
#include "solver/ascent.h"

#include "solver/polish.h"
#include "solver/reduce.h"

#include <math.h>
#include <string.h>

enum { PATIENCE = 40, DECODE_EVERY = 5 };

typedef struct {
    const MwCore *core;
    MwDual *dual;
    MwDualState *state; /* of the best bound */
    MwCoreBest *best;
    double bound;      /* the best */
    double *direction; /* [row] averaged excess */
    double *excess, *next_price;
    double pace; /* fraction of the gap that a step tries to close */
    int stalled; /* iterations without a better bound */
    double mark; /* the bound PATIENCE iterations ago */
} Ascent;

static void try_choice(Ascent *ascent)
{
    MwArena *scratch = mw_arena_new();
    const MwCore *core = ascent->core;
    int *choice = MW_NEW(scratch, int, core->node_count);
    mw_dual_decode(ascent->dual, choice);
    mw_polish(core, choice);
    MwCost cost = mw_core_cost(core, choice);
    MwCoreBest *best = ascent->best;
    if (mw_core_allows(core, choice) && mw_core_fits(core, choice) && cost < best->cost) {
        best->cost = cost;
        best->choice =
            mw_arena_dup(ascent->dual->arena, choice, sizeof *choice * (size_t)core->node_count);
    }
    mw_arena_free(&scratch);
}

/* What the bound may still rise by; a guess as long as no choice is known. */
static double gap(const Ascent *ascent)
{
    if (ascent->best->cost < MW_CORE_NONE)
        return fmax(0, (double)ascent->best->cost - ascent->bound);
    return 0.05 * fabs(ascent->bound) + 1;
}

/* From the best prices in the averaged direction. Usages are weighed by the row's limit, so that
 * units do not matter. */
static void move_prices(Ascent *ascent)
{
    const MwCore *core = ascent->core;
    double norm = 0;
    mw_dual_excess(ascent->dual, ascent->excess);
    for (int row = 0; row < core->row_count; row++) {
        double limit = fmax(1, (double)core->limit[row]);
        double *average = &ascent->direction[row];
        *average += 0.1 * (ascent->excess[row] / limit - *average);
        if (ascent->state->price[row] > 0 || *average > 0)
            norm += *average * *average;
    }
    double step = norm > 0 ? ascent->pace * fmin(gap(ascent), 0.1 * fabs(ascent->bound)) / norm : 0;
    for (int row = 0; row < core->row_count; row++) {
        double limit = fmax(1, (double)core->limit[row]);
        double moved = ascent->state->price[row] + step * ascent->direction[row] / limit;
        ascent->next_price[row] = fmax(0, moved);
    }
    mw_dual_set_prices(ascent->dual, ascent->next_price);
}

static void note_bound(Ascent *ascent)
{
    double bound = mw_dual_bound(ascent->dual);
    if (bound > ascent->bound) {
        ascent->bound = bound;
        mw_dual_save(ascent->dual, ascent->state);
        ascent->stalled = 0;
        ascent->pace = fmin(ascent->pace * 1.1, 2);
    } else if (++ascent->stalled % 4 == 0) {
        ascent->pace *= 0.66;
    }
}

/* Whether another iteration is worth it: not if cutting would take away most strategies, nor if the
 * bound has stopped rising. */
static bool rising(Ascent *ascent, int iteration)
{
    if (ascent->dual->surplus_count > ascent->dual->strategy_count / 2 ||
        (double)ascent->best->cost <= ascent->bound)
        return false;
    if (iteration % PATIENCE != 0)
        return true;
    bool rises = ascent->bound > ascent->mark + 1e-3 * gap(ascent);
    ascent->mark = ascent->bound;
    return rises;
}

MwDual *mw_ascend(MwArena *arena, const MwCore *core, double *price, MwCoreBest *best,
                  const MwAscentLimits *limits)
{
    Ascent ascent = {.core = core, .best = best, .pace = 1, .bound = -INFINITY, .mark = -INFINITY};
    ascent.dual = mw_dual_new(arena, core, price);
    ascent.state = mw_dual_new_state(arena, ascent.dual);
    ascent.direction = MW_NEW(arena, double, core->row_count);
    ascent.excess = MW_NEW(arena, double, core->row_count);
    ascent.next_price = MW_NEW(arena, double, core->row_count);
    for (int i = 1; i <= limits->iterations; i++) {
        ascent.dual->surplus = best->cost < MW_CORE_NONE ? gap(&ascent) : INFINITY;
        mw_dual_sweep(ascent.dual, true);
        mw_dual_sweep(ascent.dual, false);
        note_bound(&ascent);
        if (i % DECODE_EVERY == 0)
            try_choice(&ascent);
        if (!rising(&ascent, i) || (limits->deadline_s > 0 && mw_clock_s() > limits->deadline_s))
            break;
        if (core->row_count > 0)
            move_prices(&ascent);
    }
    mw_dual_load(ascent.dual, ascent.state);
    try_choice(&ascent);
    memcpy(price, ascent.dual->price, sizeof *price * (size_t)core->row_count);
    return ascent.dual;
}
