/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ANSWER_LEAST_PEAK_H
#define MW_SOLVER_ANSWER_LEAST_PEAK_H

#include "solver/solver.h"

/* Like mw_least_peak, but ends as soon as a choice keeps `limit` or no choice is proven to keep it.
 * Unless `thorough`, rounds of levels (peak_levels.h) are solved with `quick` only. */
MwLeastPeak mw_least_peak_for(MwArena *arena, const MwProblem *problem, int64_t limit,
                              bool thorough, const MwSolveOptions *options);

#endif
