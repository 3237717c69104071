/* SPDX-License-Identifier: MIT */
#include "runtime/plan.h"

#include "runtime/routine.h"

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

const MwPlanMesh *mw_plan_loss_mesh(const MwPlan *plan)
{
    for (int m = 0; m < plan->mesh_count; m++)
        if (plan->meshes[m].loss_buffer >= 0)
            return &plan->meshes[m];
    return NULL;
}
