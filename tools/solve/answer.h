/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What meshwright-solve says at the end. */
#ifndef MW_TOOLS_SOLVE_ANSWER_H
#define MW_TOOLS_SOLVE_ANSWER_H

#include "base/text.h"
#include "solver/solver.h"

/* Lines for people: status, cost, bound, gap, peak usage, time. */
void mw_solve_summary(MwText *text, const MwProblem *problem, const MwSolution *solution,
                      double time_s);

/* The strategies as one line, "[0, 3, 1]". */
void mw_solve_strategies(MwText *text, const MwProblem *problem, const MwSolution *solution);

/* The whole answer as a JSON object. The list of strategies begins a line of its own, so that
 * programs that look for such a line in plain output find it in JSON too. */
void mw_solve_json(MwText *text, const MwProblem *problem, const MwSolution *solution);

#endif
