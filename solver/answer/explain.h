/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_ANSWER_EXPLAIN_H
#define MW_SOLVER_ANSWER_EXPLAIN_H

#include "solver/solver.h"

/* Explains why `problem`, which is proven to have no legal answer, has none. In `arena`. */
const MwInfeasibility *mw_explain(MwArena *arena, const MwProblem *problem,
                                  const MwSolveOptions *options);

#endif
