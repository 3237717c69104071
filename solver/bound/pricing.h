/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pricing problem: a core at given prices of its memory rows, which is one evaluation of the
 * Lagrangian dual of the rows. */
#ifndef MW_SOLVER_BOUND_PRICING_H
#define MW_SOLVER_BOUND_PRICING_H

#include "solver/core/core.h"
#include "solver/stop.h"

typedef struct {
    bool infeasible; /* the core has no allowed choice, whatever it uses */
    int *choice;     /* [core->node_count] a good choice at the prices; NULL: none was found */
    MwCost bound;    /* no choice that keeps the rows costs less; in the core's scale */
    MwCost cost;     /* cost of `choice` at the prices; equal to `bound` if it is optimal there */
} MwPricingAnswer;

/* Finds the optimal choice at the prices by elimination. `price` ([row_count]) is at least 0. The
 * choice is NULL if elimination would compute more than `total` entries, or is stopped. The core
 * does not change; the choice is in `arena`. */
MwPricingAnswer mw_pricing_solve_optimally(MwArena *arena, const MwCore *core, const double *price,
                                           int64_t total, const MwStop *stop);

/* Finds a good choice and a bound in any case. As long as *uses_fixing is false, by elimination
 * alone with at most `total` entries. If that does not suffice, *uses_fixing becomes true, and
 * reduced-cost fixing removes strategies first. */
MwPricingAnswer mw_pricing_solve(MwArena *arena, const MwCore *core, const double *price,
                                 int64_t total, bool *uses_fixing, const MwStop *stop);

#endif
