/* SPDX-License-Identifier: MIT */
#include "runtime/plan/origin.h"

#include "runtime/plan/collective.h"

#include <string.h>

const MwPlanOperator *mw_plan_instr_operator(const MwPlanMesh *mesh, const MwPlanInstr *instr)
{
    if (instr->operator_index >= 0)
        return &mesh->operators[instr->operator_index];
    return instr->has_operators ? &mesh->operators[instr->operators[0]] : NULL;
}

const char *mw_plan_instr_kind(MwArena *arena, const MwPlanInstr *instr)
{
    switch (instr->kind) {
    case MW_INSTR_KERNEL:
    case MW_INSTR_ROUTINE:
        return "compute";
    case MW_INSTR_COLLECTIVE:
        return mw_arena_printf(arena, "%s/%d", mw_collective_name((MwCollective)instr->target),
                               instr->axis);
    case MW_INSTR_SEND:
        return "send";
    case MW_INSTR_RECEIVE:
        return "receive";
    }
    MW_UNREACHABLE();
}

/* Of a call, whose operators are known. */
static const char *call_title(MwArena *arena, const MwPlanInstr *instr, const MwPlanOperator *op)
{
    if (instr->operator_index < 0)
        return mw_arena_printf(arena, "%s and %d more (%s)", op->name, instr->operator_count - 1,
                               op->op);
    return mw_arena_printf(arena, "%s (%s)", op->name, op->op);
}

const char *mw_plan_instr_title(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                                const MwPlanInstr *instr)
{
    const MwPlanOperator *op = mw_plan_instr_operator(mesh, instr);
    const char *kind = mw_plan_instr_kind(arena, instr);
    char label[200];
    switch (instr->kind) {
    case MW_INSTR_KERNEL:
    case MW_INSTR_ROUTINE:
        if (op)
            return call_title(arena, instr, op);
        mw_plan_instr_label(plan, instr, label, sizeof label);
        return mw_arena_printf(arena, "%s", label);
    case MW_INSTR_COLLECTIVE:
        return op ? mw_arena_printf(arena, "%s for %s", kind, op->name)
                  : mw_arena_printf(arena, "%s into %s", kind,
                                    mesh->buffers[instr->operands[1].buffer].name);
    case MW_INSTR_SEND:
    case MW_INSTR_RECEIVE:
        return mw_arena_printf(arena, "%s %s", kind, plan->transfers[instr->target].name);
    }
    MW_UNREACHABLE();
}

const char *mw_plan_instr_operators(MwArena *arena, const MwPlanMesh *mesh,
                                    const MwPlanInstr *instr, int most)
{
    MwText text = {.arena = arena};
    const int count = (int)mw_min(instr->operator_count, most);
    mw_text_add(&text, "");
    if (!instr->has_operators)
        return instr->operator_index < 0 ? "" : mesh->operators[instr->operator_index].name;
    for (int i = 0; i < count; i++)
        mw_text_printf(&text, "%s%s", i ? ", " : "", mesh->operators[instr->operators[i]].name);
    if (count < instr->operator_count)
        mw_text_printf(&text, ", %d more", instr->operator_count - count);
    return text.at;
}

const char *mw_plan_layer(MwArena *arena, const char *name)
{
    const char *begin = name;
    for (const char *at = name; *at;) {
        const size_t length = strcspn(at, ".");
        const bool is_number = length && strspn(at, "0123456789") == length;
        if (is_number && at > begin && at[length] == '.')
            return mw_arena_printf(arena, "%.*s", (int)(at + length - begin), begin);
        if (length == 4 && strncmp(at, "grad", 4) == 0 && at == name && at[length])
            begin = at + length + 1;
        at += length + (at[length] == '.');
    }
    return "";
}

const char *mw_plan_instr_layer(MwArena *arena, const MwPlanMesh *mesh, const MwPlanInstr *instr)
{
    const MwPlanOperator *op = mw_plan_instr_operator(mesh, instr);
    if (op)
        return mw_plan_layer(arena, op->name);
    return instr->kind == MW_INSTR_COLLECTIVE
               ? mw_plan_layer(arena, mesh->buffers[instr->operands[1].buffer].name)
               : "";
}
