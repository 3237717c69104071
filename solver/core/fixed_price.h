/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of memory rows in fixed point, for proofs in integers; a core with prices in the place of
 * its rows. */
#ifndef MW_SOLVER_CORE_FIXED_PRICE_H
#define MW_SOLVER_CORE_FIXED_PRICE_H

#include "solver/core/core.h"

typedef struct {
    __int128 *unit; /* [row + 1] sum of the prices of the rows before, in units of 2^-bits */
    int bits;
    MwCost limits; /* what all limits together cost, rounded up */
} MwFixedPrices;

/* `price` ([row_count]) at least 0; in `arena`. */
MwFixedPrices mw_fix_prices(MwArena *arena, const MwCore *core, const double *price);
/* Adds to cost[strategy] what the usage of the node costs, each term rounded down. So what a choice
 * that keeps the rows pays for its usage is never more than `limits`. */
void mw_fixed_prices_add(const MwFixedPrices *prices, const MwCoreNode *node, MwCost *cost);

/* Makes the rows of the core into prices: usage is paid for and the limits are paid back, so that
 * what keeps the rows costs no more than before and there are no rows any more. False, and the core
 * is of no use, if its costs would get too large. */
bool mw_core_pay(MwCore *core, const double *price);

#endif
