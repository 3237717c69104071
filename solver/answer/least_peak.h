/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ANSWER_LEAST_PEAK_H
#define MW_SOLVER_ANSWER_LEAST_PEAK_H

#include "solver/solver.h"

/* mw_least_peak, which ends as soon as a choice keeps `limit` or it is proven that none does. If it
 * is not `thorough`, it does without search. */
MwLeastPeak mw_least_peak_for(MwArena *arena, const MwProblem *problem, int64_t limit,
                              bool thorough, const MwSolveOptions *options);

#endif
