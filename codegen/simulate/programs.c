/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/programs.h"

#include "codegen/plan/predict.h"

#include <math.h>

/* Seconds of all instructions but collectives in groups of several. */
static double compute_s(const MwPlanMesh *mesh, const MwPlanProgram *program)
{
    double time_s = 0;
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        if (instr->kind != MW_INSTR_COLLECTIVE || mesh->shape.size[instr->axis] == 1)
            time_s += mw_plan_instr_runs(program, i) * instr->time_s;
    }
    return time_s;
}

static int count_coupled(const MwPlanMesh *mesh, const MwPlanProgram *program)
{
    bool joins[MW_MAX_AXES] = {0};
    int coupled = 1;
    for (int i = 0; i < program->instr_count; i++)
        if (program->instrs[i].kind == MW_INSTR_COLLECTIVE)
            joins[program->instrs[i].axis] = true;
    for (int axis = 0; axis < mesh->shape.axis_count; axis++)
        coupled *= joins[axis] ? mesh->shape.size[axis] : 1;
    return coupled;
}

MwSimProgram *mw_sim_programs(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                              bool overlaps)
{
    MwSimProgram *programs = MW_NEW(arena, MwSimProgram, mesh->program_count);
    for (int p = 0; p < mesh->program_count; p++) {
        MwSimProgram *program = &programs[p];
        const int ops = traffic->programs[p].op_count;
        double *at_s = MW_NEW(arena, double, ops + 1), before_s = 0;
        program->piece_s = MW_NEW(arena, double, ops + 1);
        program->instr_s = MW_NEW(arena, double, mesh->programs[p].instr_count);
        program->time_s = at_s[ops] = mw_predict_task_s(
            overlaps, mesh, traffic, p, &(MwPredictedTimes){at_s, program->instr_s});
        for (int i = 0; i <= ops; i++) {
            program->piece_s[i] = fmax(at_s[i] - before_s, 0);
            before_s = fmax(before_s, at_s[i]);
        }
        program->compute_s = fmin(compute_s(mesh, &mesh->programs[p]), program->time_s);
        program->coupled = count_coupled(mesh, &mesh->programs[p]);
    }
    return programs;
}
