/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reason why a problem has no answer, as meshwright-solve prints and writes it. */
#ifndef MW_TOOLS_SOLVE_REASON_H
#define MW_TOOLS_SOLVE_REASON_H

#include "base/text.h"
#include "solver/solver.h"
#include "tools/json.h"

/* Adds lines for people, about the first few nodes and times. */
void mw_solve_reason(MwText *text, const MwProblem *problem, const MwInfeasibility *why);

/* Adds the JSON field "infeasible", with all nodes and times. */
void mw_solve_reason_json(MwJson *json, const MwProblem *problem, const MwInfeasibility *why);

#endif
