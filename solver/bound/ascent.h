/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_ASCENT_H
#define MW_SOLVER_BOUND_ASCENT_H

#include "solver/bound/dual.h"
#include "solver/stop.h"

#define MW_ABOVE_ANY_COST ((MwCost)1 << 120) /* above any cost */

/* An incumbent: the best choice known so far, in the core's scale. */
typedef struct {
    MwCost cost; /* only less is of interest; MW_ABOVE_ANY_COST: any cost is */
    int *choice; /* [core->node_count] a choice of that cost; NULL: it is not a choice of this
                    core */
} MwIncumbent;

typedef struct {
    int iterations;  /* at most; an iteration has two sweeps */
    double gap;      /* stop when (cost - bound) / cost of the incumbent is at most this */
    bool bound_only; /* decode no choices */
    MwStop stop;
} MwAscentLimits;

/* Dual ascent on `core`, in any number of runs. `price` ([row_count]) are the starting prices;
 * `step_scale` is the starting length of steps, 1 for the first ascent. */
typedef struct MwAscent MwAscent;
MwAscent *mw_ascent_new(MwArena *arena, const MwCore *core, const double *price, double step_scale);
/* Raises the bound until it stops rising, meets the cost of the incumbent, or `limits` end the run.
 * Returns true if the bound was rising to the end. Choices decoded on the way replace the incumbent
 * if they are legal and better. */
bool mw_ascent_run(MwAscent *ascent, MwIncumbent *incumbent, const MwAscentLimits *limits);
/* Decodes a choice from the current potentials. Returns false if it does not keep the rows. It may
 * take forbidden entries. */
bool mw_ascent_decode(const MwAscent *ascent, int *choice);
/* Returns the bound that the current potentials and prices prove. */
MwCost mw_ascent_certify(const MwAscent *ascent);
/* Returns the prices of the best bound so far, [row_count]. */
const double *mw_ascent_price(const MwAscent *ascent);
/* Restores the potentials and prices of the best bound. `price` and `step_scale` get the final
 * values. */
MwDual *mw_ascent_end(MwAscent *ascent, MwIncumbent *incumbent, double *price, double *step_scale);

/* Creates, runs and ends an ascent. */
MwDual *mw_ascend(MwArena *arena, const MwCore *core, double *price, double *step_scale,
                  MwIncumbent *incumbent, const MwAscentLimits *limits);

#endif
