/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ROAD_SOLVE_H
#define MW_SOLVER_ROAD_SOLVE_H

#include "solver/road/search.h"

/* mw_solve without what follows an infeasible or unknown end: it gives no reasons and relaxes
 * nothing. `look_ahead` is asked first for any choice that keeps the limit; NULL: nothing is asked.
 * It may itself solve problems by this function. */
MwSolution mw_solve_road(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                         MwLookAhead look_ahead);

#endif
