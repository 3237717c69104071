/* SPDX-License-Identifier: MIT */
/* A buffer is invariant unless something that differs from one micro-batch to another is written
 * there: an input, what is received, what a kernel counts positions of its micro-batch for, or what
 * an instruction makes of another such buffer, or of what it finds there. A kernel that runs on
 * several sets makes of each what that has. */
#include "runtime/plan/invariant.h"

/* [programs] whether tasks on micro-batches run it. */
static bool *find_repeated(MwArena *arena, const MwPlanMesh *mesh)
{
    bool *is_repeated = MW_NEW(arena, bool, mesh->program_count);
    for (int t = 0; t < mesh->task_count; t++)
        is_repeated[mesh->tasks[t].program] |= mesh->tasks[t].micro_batch >= 0;
    return is_repeated;
}

/* One set of operands and arguments of an instruction, or all that it has. */
typedef struct {
    const MwPlanOperand *operands;
    int operand_count;
    const MwPlanArg *args;
    int arg_count;
} Part;

static bool differs(const MwPlanInstr *instr, const Part *part, const bool *is_invariant)
{
    bool found = instr->kind == MW_INSTR_RECEIVE;
    for (int i = 0; i < part->arg_count; i++)
        found |= part->args[i].micro_stride != 0;
    for (int i = 0; i < part->operand_count; i++)
        found |=
            part->operands[i].access == MW_ACCESS_READ_WRITE ||
            (part->operands[i].access == MW_ACCESS_READ && !is_invariant[part->operands[i].buffer]);
    return found;
}

/* Marks what the instruction makes of a part if it differs; true if that was not known. */
static bool spread_part(const MwPlanInstr *instr, const Part *part, bool *is_invariant)
{
    bool changes = false;
    if (!differs(instr, part, is_invariant))
        return false;
    for (int i = 0; i < part->operand_count; i++) {
        bool *is_same = &is_invariant[part->operands[i].buffer];
        if (part->operands[i].access == MW_ACCESS_READ || !*is_same)
            continue;
        *is_same = false;
        changes = true;
    }
    return changes;
}

static bool spread(const MwPlan *plan, const MwPlanInstr *instr, bool *is_invariant)
{
    const int sets =
        instr->kind == MW_INSTR_KERNEL ? (int)mw_max(mw_plan_instr_sets(plan, instr), 1) : 1;
    const int operands = instr->operand_count / sets, args = instr->arg_count / sets;
    bool changes = false;
    for (int s = 0; s < sets; s++) {
        const Part part = {instr->operands + s * operands, operands, instr->args + s * args, args};
        changes |= spread_part(instr, &part, is_invariant);
    }
    return changes;
}

bool *mw_plan_find_invariant(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh)
{
    const bool *is_repeated = find_repeated(arena, mesh);
    bool *is_invariant = MW_NEW(arena, bool, mesh->buffer_count);
    for (int b = 0; b < mesh->buffer_count; b++)
        is_invariant[b] = true;
    for (int i = 0; i < mesh->input_count; i++)
        is_invariant[mesh->inputs[i].buffer] = false;
    for (bool changes = true; changes;) {
        changes = false;
        for (int p = 0; p < mesh->program_count; p++)
            for (int i = 0; i < mesh->programs[p].instr_count && is_repeated[p]; i++)
                changes |= spread(plan, &mesh->programs[p].instrs[i], is_invariant);
    }
    return is_invariant;
}
