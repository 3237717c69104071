/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns the report of the intra-operator pass (passes/sharding/report.h) into that of the plan. */
#ifndef MW_CODEGEN_PLAN_REPORT_H
#define MW_CODEGEN_PLAN_REPORT_H

#include "codegen/fuse/units.h"
#include "passes/compilation.h"

/* Adds the operators of a stage, and the costs that the intra-op pass reckoned. mesh->operators has
 * room. */
void mw_plan_report_fill(MwArena *arena, const MwStage *stage, MwPlanMesh *mesh);

/* Sets what a device of the mesh can do at most, and what of it collectives take; its operators, of
 * `graph`, are there. */
void mw_plan_report_ceilings(const MwGraph *graph, const MwDeviceModel *device, MwPlanMesh *mesh);

/* Where a node comes from: "models/gpt.graph:12:9", or "". */
const char *mw_plan_report_source(MwArena *arena, const MwNode *node);

/* Sets the operators of the instruction of a unit, of which the stage's are `first` and on. */
void mw_plan_report_instr(MwArena *arena, const MwStage *stage, const MwLegal *legal,
                          const MwUnit *unit, int first, MwPlanInstr *instr);
/* Sorts `operators`, takes out what is there twice, and gives them to the instruction where they
 * are several. */
void mw_plan_set_operators(MwPlanInstr *instr, int *operators, int count);
/* Gives an instruction, a copy of the first of `parts`, all operators of the `count` parts. */
void mw_plan_join_operators(MwArena *arena, const MwPlanInstr *const *parts, int count,
                            MwPlanInstr *instr);

#endif
