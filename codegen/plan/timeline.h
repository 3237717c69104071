/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plan says of its pipeline, put together: where transfers begin and end, how long the tasks
 * of its stages take. */
#ifndef MW_CODEGEN_PLAN_TIMELINE_H
#define MW_CODEGEN_PLAN_TIMELINE_H

#include "ir/ir.h"
#include "runtime/plan/plan.h"
#include "schedule/timeline.h"

/* The instruction that sends or receives. */
typedef struct {
    int stage; /* -1: no stage has it */
    MwPhase phase;
    int operator_index; /* of the mesh; -1: none */
} MwPlanEnd;

typedef struct {
    MwPlanEnd send, receive;
} MwPlanEnds;

/* The phase that a program of a plan runs: it begins its name. */
MwPhase mw_plan_program_phase(const MwPlanProgram *program);

/* Whether instruction `instr` of program `program` of its mesh is the stage's: all of a program of
 * its own are, and of the update, which the stages of a mesh share, those of its operators. */
bool mw_plan_stage_runs(const MwPlan *plan, int stage, int program, int instr);

/* [transfer_count], in `arena`. */
MwPlanEnds *mw_plan_transfer_ends(MwArena *arena, const MwPlan *plan);

/* [stage_count], in `arena`: for schedule/timeline.h. */
MwStageTimes *mw_plan_stage_times(MwArena *arena, const MwPlan *plan, const MwPlanEnds *ends);

/* Seconds from the end of the last micro-batch to the end of the step. */
double mw_plan_update_s(const MwPlan *plan, const MwPlanEnds *ends);

#endif
