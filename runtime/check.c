/* SPDX-License-Identifier: MIT */
/* mw_plan_check: the order of its parts. It shares no code with what makes plans. */
#include "runtime/check.h"

#include "runtime/routine.h"

#include <stdarg.h>
#include <stdio.h>

void mw_check_error(const MwCheck *check, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mw_diag_error(check->diags, mw_span_none(), "%s: %s", check->place, text);
}

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

static void check_mesh(const MwPlan *plan, int index, MwArena *arena, MwDiags *diags)
{
    char place[32];
    snprintf(place, sizeof place, "mesh %d", index);
    const MwCheck check = {plan, &plan->meshes[index], diags, arena, place};
    static void (*const parts[])(const MwCheck *) = {mw_check_mesh, mw_check_instrs, mw_check_tasks,
                                                     mw_check_schedule};
    int before = mw_diags_error_count(diags);
    for (int i = 0; i < MW_COUNT(parts) && mw_diags_error_count(diags) == before; i++)
        parts[i](&check);
}

bool mw_plan_check(const MwPlan *plan, MwDiags *diags)
{
    int before = mw_diags_error_count(diags);
    mw_check_plan(&(MwCheck){.plan = plan, .diags = diags, .place = "plan"});
    if (mw_diags_error_count(diags) != before)
        return false;
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < plan->mesh_count; i++)
        check_mesh(plan, i, arena, diags);
    mw_arena_free(&arena);
    return mw_diags_error_count(diags) == before;
}
