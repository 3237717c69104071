/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_SOLVE_H
#define MW_SOLVER_SOLVE_H

#include "solver/solver.h"

/* mw_solve without what comes after an infeasible or unknown end: no reasons, no relaxation. If it
 * `looks_ahead`, it asks first whether any choice keeps the limit, at whatever cost; that question
 * itself is answered here, too. */
MwSolution mw_solve_road(MwArena *arena, const MwProblem *problem, const MwSolveOptions *options,
                         bool looks_ahead);

#endif
