/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan_timeline.h"

#include "ir/print.h"

#include <math.h>
#include <string.h>

MwPhase mw_plan_program_phase(const MwPlanProgram *program)
{
    const size_t length = strcspn(program->name, "."); /* then the chunk of the mesh */
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++) {
        const char *name = mw_phase_name((MwPhase)phase);
        if (strlen(name) == length && strncmp(name, program->name, length) == 0)
            return (MwPhase)phase;
    }
    return MW_PHASE_FORWARD;
}

static void note_ends(const MwPlan *plan, int stage, const MwPlanProgram *program, MwPlanEnds *ends)
{
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        if (instr->kind != MW_INSTR_SEND && instr->kind != MW_INSTR_RECEIVE)
            continue;
        MW_ASSERT(instr->target >= 0 && instr->target < plan->transfer_count);
        MwPlanEnds *both = &ends[instr->target];
        *(instr->kind == MW_INSTR_SEND ? &both->send : &both->receive) =
            (MwPlanEnd){stage, mw_plan_program_phase(program), instr->operator_index};
    }
}

MwPlanEnds *mw_plan_transfer_ends(MwArena *arena, const MwPlan *plan)
{
    MwPlanEnds *ends = MW_NEW(arena, MwPlanEnds, plan->transfer_count);
    for (int i = 0; i < plan->transfer_count; i++)
        ends[i].send = ends[i].receive = (MwPlanEnd){.stage = -1, .operator_index = -1};
    for (int s = 0; s < plan->stage_count; s++) {
        const MwPlanStage *stage = &plan->stages[s];
        for (int p = 0; p < stage->program_count; p++)
            note_ends(plan, s, &plan->meshes[stage->mesh].programs[stage->first_program + p], ends);
    }
    return ends;
}

/* Seconds of the transfers that a stage sends in a phase, each once. */
static double sent_s(const MwPlan *plan, const MwPlanEnds *ends, int stage, MwPhase phase)
{
    double time_s = 0;
    for (int i = 0; i < plan->transfer_count; i++)
        if (ends[i].send.stage == stage && ends[i].send.phase == phase)
            time_s += plan->transfers[i].time_s;
    return time_s;
}

MwStageTimes *mw_plan_stage_times(MwArena *arena, const MwPlan *plan, const MwPlanEnds *ends)
{
    MwStageTimes *times = MW_NEW(arena, MwStageTimes, plan->stage_count);
    for (int s = 0; s < plan->stage_count; s++) {
        const MwPlanStage *stage = &plan->stages[s];
        times[s].task[MW_TASK_FORWARD] = stage->forward_s;
        times[s].task[MW_TASK_BACKWARD] = stage->backward_s;
        times[s].task[MW_TASK_BACKWARD_INPUT] = stage->backward_s;
        times[s].task[MW_TASK_WEIGHT] = stage->weight_s;
        times[s].to_next = sent_s(plan, ends, s, MW_PHASE_FORWARD);
        times[s].to_previous = sent_s(plan, ends, s, MW_PHASE_BACKWARD);
    }
    return times;
}

double mw_plan_update_s(const MwPlan *plan, const MwPlanEnds *ends)
{
    double update_s = 0;
    for (int s = 0; s < plan->stage_count; s++)
        update_s =
            fmax(update_s, plan->stages[s].update_s + sent_s(plan, ends, s, MW_PHASE_UPDATE));
    return update_s;
}
