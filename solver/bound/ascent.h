/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_ASCENT_H
#define MW_SOLVER_BOUND_ASCENT_H

#include "solver/bound/dual.h"
#include "solver/stop.h"

#define MW_CORE_NONE ((MwCost)1 << 120) /* above any cost */

/* The best choice known so far, in the core's scale. */
typedef struct {
    MwCost cost; /* only less is of interest; MW_CORE_NONE: anything is */
    int *choice; /* [core->node_count] of that cost; NULL: it is not one of this core */
} MwCoreBest;

typedef struct {
    int iterations;  /* at most, of two sweeps each */
    double gap;      /* stop when the best choice is that close, as a share of its cost */
    bool bound_only; /* look for no choices */
    MwStop stop;
} MwAscentLimits;

/* Raises the bound of `core` in as many runs as one likes. `price` ([row_count]) are the prices to
 * begin with, `pace` says how boldly they move (1 to begin with). */
typedef struct MwAscent MwAscent;
MwAscent *mw_ascent_new(MwArena *arena, const MwCore *core, const double *price, double pace);
/* Until the bound rises no more or meets the cost of `best`, or for `limits->iterations`; true if
 * it was rising to the end. Choices found on the way replace `best` if they are legal and
 * better. */
bool mw_ascent_run(MwAscent *ascent, MwCoreBest *best, const MwAscentLimits *limits);
/* What the potentials look like now, as a choice: false if it does not keep the rows. Where much is
 * forbidden, it may take that. */
bool mw_ascent_decode(const MwAscent *ascent, int *choice);
/* The proven bound of the potentials and prices as they are now. */
MwCost mw_ascent_certify(const MwAscent *ascent);
/* [row_count] of the best bound so far. */
const double *mw_ascent_price(const MwAscent *ascent);
/* The potentials and prices of the best bound; `price` and `pace` become its. */
MwDual *mw_ascent_end(MwAscent *ascent, MwCoreBest *best, double *price, double *pace);

/* All of these in one run. */
MwDual *mw_ascend(MwArena *arena, const MwCore *core, double *price, double *pace, MwCoreBest *best,
                  const MwAscentLimits *limits);

#endif
