/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step sizes of prices. */
#ifndef MW_SOLVER_BOUND_STEP_H
#define MW_SOLVER_BOUND_STEP_H

#include "solver/tuning.h"

#include <math.h>

/* Returns an estimate of how much a bound can rise: the gap while no choice is known, and the limit
 * of the gain that one step aims for. */
static inline double mw_step_gap(double bound)
{
    return MW_TUNED_STEP_GAP * fabs(bound) + 1;
}

/* Returns the factor for the next step size after a step gained `gained` where `promised` was
 * predicted: longer after a good fraction of it, shorter after no gain (Conn, Gould and Toint,
 * Trust-region methods, 2000, section 6.1). */
static inline double mw_step_factor(double gained, double promised)
{
    if (gained <= 0)
        return 1 / MW_TUNED_STEP_FACTOR;
    return gained > promised / MW_TUNED_STEP_FACTOR ? MW_TUNED_STEP_FACTOR : 1;
}

#endif
