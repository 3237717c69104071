/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of memory rows in fixed point, for bounds proven in integers, and the Lagrangian
 * relaxation of a core's rows at such prices. */
#ifndef MW_SOLVER_CORE_FIXED_PRICE_H
#define MW_SOLVER_CORE_FIXED_PRICE_H

#include "solver/core/core.h"

typedef struct {
    __int128 *unit; /* [row_count + 1] sum of the prices of the rows before this one, in units of
                       2^-bits */
    int bits;
    MwCost limits; /* sum over rows of price times limit, rounded up */
} MwFixedPrices;

/* Converts `price` ([row_count], each at least 0). The result is in `arena`. */
MwFixedPrices mw_fix_prices(MwArena *arena, const MwCore *core, const double *price);
/* Adds to cost[strategy] the price of the node's usage; each term is rounded down. A choice that
 * keeps the rows therefore pays at most `limits` for its usage. */
void mw_fixed_prices_add(const MwFixedPrices *prices, const MwCoreNode *node, MwCost *cost);

/* Relaxes all rows (Lagrangian relaxation): adds the price of the usage to the unary costs,
 * subtracts price times limit from the constant, and drops the rows. A choice that keeps the rows
 * costs no more than before. Returns false, and leaves the core unusable, if a cost would become
 * too large. */
bool mw_core_relax_rows(MwCore *core, const double *price);

#endif
