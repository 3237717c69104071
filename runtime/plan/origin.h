/* SPDX-License-Identifier: MIT */
/* Where the instructions of a plan come from, as texts for people: operators, layers, kinds of
 * work. */
#ifndef MW_RUNTIME_PLAN_ORIGIN_H
#define MW_RUNTIME_PLAN_ORIGIN_H

#include "base/arena.h"
#include "runtime/plan/plan.h"

/* The operator that an instruction mostly computes, or the first of several; NULL: none. */
const MwPlanOperator *mw_plan_instr_operator(const MwPlanMesh *mesh, const MwPlanInstr *instr);

/* What an instruction does, in `arena`: "layers.0.mlp.gelu (gelu)", "all_gather/1 for
 * layers.0.attention", "send h"; where no operator is known, what it runs. */
const char *mw_plan_instr_title(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                                const MwPlanInstr *instr);

/* The names of its operators, in `arena`, at most `most` of them: "h, x, y, 2 more"; "" if there
 * are none. */
const char *mw_plan_instr_operators(MwArena *arena, const MwPlanMesh *mesh,
                                    const MwPlanInstr *instr, int most);

/* "compute", "all_gather/1", "send" or "receive", in `arena`. */
const char *mw_plan_instr_kind(MwArena *arena, const MwPlanInstr *instr);

/* The layer of its operator, or of what a collective writes, in `arena`; "" if there is none. */
const char *mw_plan_instr_layer(MwArena *arena, const MwPlanMesh *mesh, const MwPlanInstr *instr);

/* The layer that a value of this name is in, "layers.3" of "grad.layers.3.mlp.w1", in `arena`: up
 * to the first number within the name. "" if there is none. */
const char *mw_plan_layer(MwArena *arena, const char *name);

#endif
