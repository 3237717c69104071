/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ANSWER_CONFLICT_H
#define MW_SOLVER_ANSWER_CONFLICT_H

#include "solver/solver.h"

/* Finds nodes of `hard`, which has no allowed choice, that exclude one another by themselves: the
 * fewest found within a limited effort, mostly a minimal set. Ascending, in `arena`; returns their
 * number. */
int mw_conflict_find(MwArena *arena, const MwProblem *hard, const MwSolveOptions *options,
                     const int **nodes);

#endif
