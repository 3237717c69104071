/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/timeline.h"

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

bool mw_plan_stage_runs(const MwPlan *plan, int stage, int program, int instr)
{
    const MwPlanStage *s = &plan->stages[stage];
    const MwPlanProgram *of = &plan->meshes[s->mesh].programs[program];
    int own_program = program - s->first_program;
    int own_operator = of->instrs[instr].operator_index - s->first_operator;
    if (mw_plan_program_phase(of) != MW_PHASE_UPDATE)
        return own_program >= 0 && own_program < s->program_count;
    return own_operator >= 0 && own_operator < s->operator_count;
}

static void note_ends(const MwPlan *plan, int stage, int index, MwPlanEnds *ends)
{
    const MwPlanProgram *program = &plan->meshes[plan->stages[stage].mesh].programs[index];
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        if ((instr->kind != MW_INSTR_SEND && instr->kind != MW_INSTR_RECEIVE) ||
            !mw_plan_stage_runs(plan, stage, index, i))
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
    for (int s = 0; s < plan->stage_count; s++)
        for (int p = 0; p < plan->meshes[plan->stages[s].mesh].program_count; p++)
            note_ends(plan, s, p, ends);
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
    double longest_s = 0;
    for (int m = 0; m < plan->mesh_count; m++) {
        double update_s = 0;
        for (int s = 0; s < plan->stage_count; s++)
            if (plan->stages[s].mesh == m)
                update_s += plan->stages[s].update_s + sent_s(plan, ends, s, MW_PHASE_UPDATE);
        longest_s = fmax(longest_s, update_s);
    }
    return longest_s;
}
