/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ASCENT_H
#define MW_SOLVER_ASCENT_H

#include "solver/dual.h"
#include "solver/stop.h"

#define MW_CORE_NONE ((MwCost)1 << 120) /* above any cost */

/* The best choice known so far, in the core's scale. */
typedef struct {
    MwCost cost; /* only less is of interest; MW_CORE_NONE: anything is */
    int *choice; /* [core->node_count] of that cost; NULL: it is not one of this core */
} MwCoreBest;

typedef struct {
    int iterations; /* at most, of two sweeps each */
    double gap;     /* stop when the best choice is that close, as a share of its cost */
    MwStop stop;
} MwAscentLimits;

/* Raises the bound of `core` until it rises no more or meets the cost of `best`, and returns the
 * potentials and prices of the best bound. `price` ([row_count]) holds the prices to begin with,
 * and those of the best bound on return; `pace` likewise how boldly they move (1 to begin with).
 * Choices found on the way replace `best` if they are legal and better. */
MwDual *mw_ascend(MwArena *arena, const MwCore *core, double *price, double *pace, MwCoreBest *best,
                  const MwAscentLimits *limits);

#endif
