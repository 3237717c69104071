/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_DRIVER_SOLVE_H
#define MW_SOLVER_DRIVER_SOLVE_H

#include "solver/driver/search.h"

/* Solves a problem without what mw_solve adds for an infeasible or unknown result: reasons and
 * relaxation. `find_feasible` is called first, to find any choice that keeps the limit; NULL: not
 * called. It may itself call this function. */
MwSolution mw_solve_plain(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                          MwFindFeasible find_feasible);

#endif
