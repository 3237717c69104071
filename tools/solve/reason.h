/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a problem has no answer, as meshwright-solve says it. */
#ifndef MW_TOOLS_SOLVE_REASON_H
#define MW_TOOLS_SOLVE_REASON_H

#include "base/text.h"
#include "solver/solver.h"
#include "tools/json.h"

/* Lines for people, about the first few nodes and times. */
void mw_solve_reason(MwText *text, const MwProblem *problem, const MwInfeasibility *why);

/* The JSON field "infeasible", with all nodes and times. */
void mw_solve_reason_json(MwJson *json, const MwProblem *problem, const MwInfeasibility *why);

#endif
