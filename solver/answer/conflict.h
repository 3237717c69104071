/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ANSWER_CONFLICT_H
#define MW_SOLVER_ANSWER_CONFLICT_H

#include "solver/solver.h"

/* Nodes of `bare`, which is known to have no allowed choice, that have no allowed combination among
 * themselves: the fewest found within a limited effort, mostly so few that any one less would have
 * one. Ascending, in `arena`; returns their number. */
int mw_conflict_find(MwArena *arena, const MwProblem *bare, const MwSolveOptions *options,
                     const int **nodes);

#endif
