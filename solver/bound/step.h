/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of prices: what a step may hope for, and how long the next one is. */
#ifndef MW_SOLVER_BOUND_STEP_H
#define MW_SOLVER_BOUND_STEP_H

#include "solver/tuning.h"

#include <math.h>

/* What a bound may rise by as long as no choice is known, and in any one step. */
static inline double mw_step_gap(double bound)
{
    return MW_TUNED_STEP_GAP * fabs(bound) + 1;
}

/* What the length of a step is multiplied by after it gained so much of what was promised: longer
 * after a good share of it, shorter after no gain at all (Conn, Gould and Toint, Trust-region methods,
 * 2000, section 6.1). */
static inline double mw_step_factor(double gained, double promised)
{
    if (gained <= 0)
        return 1 / MW_TUNED_STEP_FACTOR;
    return gained > promised / MW_TUNED_STEP_FACTOR ? MW_TUNED_STEP_FACTOR : 1;
}

#endif
