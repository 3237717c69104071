/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of costs and gaps. */
#ifndef MW_TOOLS_SOLVE_TEXT_H
#define MW_TOOLS_SOLVE_TEXT_H

#include "solver/solver.h"
#include "tools/json.h"

enum { MW_COST_TEXT_BYTES = 48, MW_GAP_TEXT_BYTES = 24 };

/* Returns the digits of `cost`, which is not negative. */
const char *mw_cost_text(MwCost cost, char text[MW_COST_TEXT_BYTES]);
void mw_json_field_cost(MwJson *json, const char *key, MwCost cost);

/* Returns (cost - bound) / cost as a percentage: "0.00213 %". */
const char *mw_gap_text(const MwSolution *solution, char text[MW_GAP_TEXT_BYTES]);

#endif
