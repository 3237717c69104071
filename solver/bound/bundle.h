/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bundle of cutting planes of the Lagrangian dual of a core's memory rows. Each choice is a plane
 * over the prices: its cost plus its priced excess. The dual function is nowhere above any plane.
 *
 * Prices have a unit such that 1 is the price at which all memory costs as much as a good
 * choice. */
#ifndef MW_SOLVER_BOUND_BUNDLE_H
#define MW_SOLVER_BOUND_BUNDLE_H

#include "solver/core/core.h"

typedef struct {
    double cost;    /* in units of cost */
    double *excess; /* [row] usage less the limit, in units of usage */
} MwCut;

typedef struct {
    MwArena *arena;
    const MwCore *core;
    double cost_unit, usage_unit;
    double price_limit;     /* greatest price of a row */
    double price_sum_limit; /* greatest sum of all prices: costs then stay far below MW_FORBIDDEN */
    MW_VEC(MwCut) cuts;
    MwIndexList rows; /* rows that have a price, in order of arrival */
    bool *is_priced;  /* [row] */
} MwBundle;

/* The trust region: the prices of the greatest dual value found, and how far from them the next
 * prices may be. */
typedef struct MwTrustRegion MwTrustRegion;
struct MwTrustRegion {
    double *price;    /* [row] */
    double value;     /* dual value there, in units of cost; -INFINITY: not known yet */
    double predicted; /* value that the planes predict for the next prices */
    double radius; /* half the width, as a fraction of the sum of the prices; INFINITY: unbounded */
    const MwTrustRegion *within; /* an outer region that the prices must not leave either; or
                                    NULL */
};

/* Makes an empty bundle for a core with the bound `cost`, in its scale, of a problem with this
 * limit. The bundle and the core must live as long as `arena`. */
MwBundle mw_bundle_new(MwArena *arena, const MwCore *core, MwCost cost, int64_t usage_limit);

/* Adds the plane of a choice of the core. The row that the choice exceeds most gets a price if it
 * has none; returns whether that is so. */
bool mw_bundle_add(MwBundle *bundle, const int *choice);
/* Adds the plane of a choice of the problem, which need not be a choice of the core. Costs of the
 * problem times 2^scale are costs in the core's scale. */
bool mw_bundle_add_problem_choice(MwBundle *bundle, const MwProblem *problem, const int *choice);

/* Says whether the choice of the last plane keeps the rows. */
bool mw_bundle_last_fits(const MwBundle *bundle);

/* Returns the least value of the planes at these prices. */
double mw_bundle_value(const MwBundle *bundle, const double *price);

/* Sets `price` ([row]) to the maximum of the planes within the trust region, and returns its
 * value. */
double mw_bundle_maximise(const MwBundle *bundle, const MwTrustRegion *region, double *price);

/* Reports that the dual has at least `value` at `price`: centres the region there if that is the
 * greatest value so far, and widens or narrows the region. */
void mw_trust_region_update(MwTrustRegion *region, int row_count, const double *price,
                            double value);

#endif
