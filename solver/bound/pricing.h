/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core at given prices of memory: a value of the Lagrangian dual of its rows. */
#ifndef MW_SOLVER_BOUND_PRICING_H
#define MW_SOLVER_BOUND_PRICING_H

#include "solver/core/core.h"
#include "solver/stop.h"

typedef struct {
    bool infeasible; /* the core has no choice, whatever it uses */
    int *choice;     /* [core->node_count] a good one at the prices; NULL: none was found */
    MwCost bound;    /* no choice that keeps the rows costs less; in the core's scale */
    MwCost cost;     /* of `choice` at the prices: equal to `bound` if it is the best one */
} MwPricingAnswer;

/* The best choice at the prices, by elimination: `price` ([row_count]) at least 0. NULL where that
 * would compute more than `total` entries, or is stopped. The core stays as it is; the choice is in
 * `arena`. */
MwPricingAnswer mw_pricing_solve_best(MwArena *arena, const MwCore *core, const double *price,
                                      int64_t total, const MwStop *stop);

/* A good choice, and a bound, in any case. By elimination alone, computing at most `total` entries,
 * as long as `*sharpens` is false; where that is too little, it becomes true, and bounds first take
 * away what is in no best choice. */
MwPricingAnswer mw_pricing_solve(MwArena *arena, const MwCore *core, const double *price,
                                 int64_t total, bool *sharpens, const MwStop *stop);

#endif
