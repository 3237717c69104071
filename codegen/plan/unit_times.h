/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long the units of a stage take, about, before they are instructions. */
#ifndef MW_CODEGEN_PLAN_UNIT_TIMES_H
#define MW_CODEGEN_PLAN_UNIT_TIMES_H

#include "codegen/fuse/units.h"
#include "cost/cost.h"

/* The first node of a unit, which is the only one of a collective. */
static inline const MwNode *mw_unit_first_node(const MwLegal *legal, const MwUnits *units, int unit)
{
    return mw_legal_at(legal, units->units.at[unit].nodes.at[0]);
}

/* The unit that makes operand k of a node; -1: the step begins with it. */
int mw_operand_maker(const MwLegal *legal, const MwUnits *units, const MwNode *node, int k);

/* Seconds of all runs of a unit in one task; 0 of communication. `arena`: for what is needed
 * meanwhile. */
double mw_unit_s(MwArena *arena, const MwLegal *legal, const MwUnits *units,
                 const MwCostModel *model, int unit);

#endif
