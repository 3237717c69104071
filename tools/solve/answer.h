/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer, as meshwright-solve prints and writes it. */
#ifndef MW_TOOLS_SOLVE_ANSWER_H
#define MW_TOOLS_SOLVE_ANSWER_H

#include "base/text.h"
#include "solver/solver.h"

/* Adds lines for people: status, cost, bound, gap, peak usage, time. */
void mw_solve_summary(MwText *text, const MwProblem *problem, const MwSolution *solution,
                      double time_s);

/* Adds the strategies as one line, "[0, 3, 1]". */
void mw_solve_strategies(MwText *text, const MwProblem *problem, const MwSolution *solution);

/* Adds the whole answer as a JSON object. The list of strategies begins a line of its own, so that
 * programs that search plain output for such a line find it in JSON too. */
void mw_solve_json(MwText *text, const MwProblem *problem, const MwSolution *solution);

#endif
