/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ANSWER_PEAK_LEVELS_H
#define MW_SOLVER_ANSWER_PEAK_LEVELS_H

#include "solver/solver.h"

/* States the question for the least peak in [low, high] as a problem: the choices of `hard` whose
 * peak is at most `high`, and one more node, the last. No choice whose peak is at least `low` costs
 * more than its peak. Returns NULL if peaks are too great to be costs. In `arena`. */
MwProblem *mw_peak_levels(MwArena *arena, const MwProblem *hard, int64_t low, int64_t high);

#endif
