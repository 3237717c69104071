/* SPDX-License-Identifier: MIT */
#include "runtime/plan/plan.h"

#include "runtime/plan/routine.h"

#include <stdio.h>

const char *mw_plan_instr_name(const MwPlan *plan, const MwPlanInstr *instr)
{
    switch (instr->kind) {
    case MW_INSTR_KERNEL:
        return plan->kernels[instr->target].name;
    case MW_INSTR_ROUTINE:
        return mw_routine_info((MwRoutine)instr->target)->name;
    case MW_INSTR_COLLECTIVE:
        return mw_collective_name((MwCollective)instr->target);
    case MW_INSTR_SEND:
        return "send";
    case MW_INSTR_RECEIVE:
        return "receive";
    }
    MW_UNREACHABLE();
}

int mw_plan_instr_sets(const MwPlan *plan, const MwPlanInstr *instr)
{
    if (instr->kind == MW_INSTR_COLLECTIVE)
        return mw_plan_part_total(instr);
    if (instr->kind != MW_INSTR_KERNEL || !plan->kernels[instr->target].takes_sets)
        return 1;
    return instr->operand_count / plan->kernels[instr->target].operand_count;
}

void mw_plan_instr_label(const MwPlan *plan, const MwPlanInstr *instr, char *label, size_t bytes)
{
    const int sets = mw_plan_instr_sets(plan, instr);
    const char *name = mw_plan_instr_name(plan, instr);
    if (sets > 1)
        snprintf(label, bytes, "%s x %d", name, sets);
    else
        snprintf(label, bytes, "%s", name);
}

const MwPlanLoop *mw_plan_loop_at(const MwPlanProgram *program, int instr)
{
    for (int l = 0; l < program->loop_count; l++)
        if (instr >= program->loops[l].first &&
            instr - program->loops[l].first < program->loops[l].count)
            return &program->loops[l];
    return NULL;
}

int mw_plan_instr_runs(const MwPlanProgram *program, int instr)
{
    const MwPlanLoop *loop = mw_plan_loop_at(program, instr);
    return loop ? loop->runs : 1;
}

int mw_plan_chunks(const MwPlan *plan)
{
    return (int)mw_ceil_div(plan->stage_count, plan->mesh_count);
}

const MwPlanMesh *mw_plan_mesh_of_rank(const MwPlan *plan, int rank)
{
    for (int m = 0; m < plan->mesh_count; m++) {
        const MwPlanMesh *mesh = &plan->meshes[m];
        if (rank >= mesh->first_rank && rank < mesh->first_rank + mw_mesh_devices(&mesh->shape))
            return mesh;
    }
    MW_UNREACHABLE();
}

int mw_plan_metric_count(const MwPlan *plan)
{
    int count = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        count += plan->meshes[m].metric_count;
    return count;
}

int mw_plan_loss_count(const MwPlan *plan)
{
    int count = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        for (int i = 0; i < plan->meshes[m].metric_count; i++)
            count += plan->meshes[m].metrics[i].minimised;
    return count;
}

const MwPlanMetric *mw_plan_metric(const MwPlan *plan, int index, const MwPlanMesh **mesh)
{
    for (int m = 0; m < plan->mesh_count; m++) {
        *mesh = &plan->meshes[m];
        for (int i = 0; i < (*mesh)->metric_count; i++)
            if ((*mesh)->metrics[i].index == index)
                return &(*mesh)->metrics[i];
    }
    MW_UNREACHABLE();
}

bool mw_plan_holds_metric(const MwPlanMesh *mesh, int buffer)
{
    for (int i = 0; i < mesh->metric_count; i++)
        if (mesh->metrics[i].buffer == buffer)
            return true;
    return false;
}
