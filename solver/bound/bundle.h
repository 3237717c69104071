/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Lagrangian dual of a core's memory rows from above: each choice is a plane over the prices of
 * the rows, its cost plus what its excess costs, and nowhere is the dual higher than any of them.
 *
 * Prices are in units such that 1 is when all the memory costs as much as a good choice. */
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
    double cap;  /* of the price of a row, */
    double most; /* and of all together: costs then stay far below MW_FORBIDDEN */
    MW_VEC(MwCut) at;
    MwIndexList rows; /* that have a price, in order of coming */
    bool *is_priced;  /* [row] */
} MwBundle;

/* Where the dual has been found highest, and how far from there the next prices may be. */
typedef struct MwTrustRegion MwTrustRegion;
struct MwTrustRegion {
    double *price;   /* [row] */
    double value;    /* of the dual there, in units of cost; -INFINITY: not known yet */
    double promised; /* by the planes, where it is looked for next */
    double radius;   /* half the width, as a share of the sum of the prices; INFINITY: anywhere */
    const MwTrustRegion *within; /* what it must not go beyond, either; or NULL */
};

/* Of a core whose bound is `cost`, in its scale, and of a problem with that limit. It and the core
 * must live as long. */
MwBundle mw_bundle_new(MwArena *arena, const MwCore *core, MwCost cost, int64_t usage_limit);

/* The plane of a choice of the core. The row that it exceeds most gets a price, if it has none:
 * true if that is so. */
bool mw_bundle_add(MwBundle *bundle, const int *choice);
/* Likewise of a choice of the problem, which need not be one of the core: in the core's scale its
 * costs are those of the problem times 2^scale. */
bool mw_bundle_add_of_problem(MwBundle *bundle, const MwProblem *problem, const int *choice);

/* Whether the choice of the last plane keeps the rows. */
bool mw_bundle_last_fits(const MwBundle *bundle);

/* The lowest of the planes at these prices. */
double mw_bundle_value(const MwBundle *bundle, const double *price);

/* Sets `price` ([row]) to where the planes together are highest in the box; returns how high. */
double mw_bundle_maximise(const MwBundle *bundle, const MwTrustRegion *region, double *price);

/* The dual has that value, or more, at `price`: moves the box there if that is the best met, and
 * widens or narrows it. */
void mw_trust_region_update(MwTrustRegion *region, int row_count, const double *price,
                            double value);

#endif
