/* SPDX-License-Identifier: MIT */
/* A buffer is invariant unless something that differs from one micro-batch to another is written
 * there: an input, what is received, what a kernel counts positions of its micro-batch for, or what
 * an instruction makes of another such buffer, or of what it finds there. Each set of operands that
 * a kernel is called for at once is by itself. */
#include "runtime/plan/invariant.h"

/* [programs] whether tasks on micro-batches run it. */
static bool *find_repeated(MwArena *arena, const MwPlanMesh *mesh)
{
    bool *is_repeated = MW_NEW(arena, bool, mesh->program_count);
    for (int t = 0; t < mesh->task_count; t++)
        is_repeated[mesh->tasks[t].program] |= mesh->tasks[t].micro_batch >= 0;
    return is_repeated;
}

/* One set of the operands and arguments of an instruction, or one part of a collective. */
typedef struct {
    const MwPlanOperand *operands;
    int operand_count;
    const MwPlanArg *args;
    int arg_count;
} OperandSet;

static OperandSet set_at(const MwPlan *plan, const MwPlanInstr *instr, int set)
{
    const int sets = mw_plan_instr_sets(plan, instr);
    const int operands = instr->operand_count / sets, args = instr->arg_count / sets;
    return (OperandSet){.operands = instr->operands + (size_t)set * (size_t)operands,
                        .operand_count = operands,
                        .args = instr->args + (size_t)set * (size_t)args,
                        .arg_count = args};
}

static bool differs(const OperandSet *set, const bool *is_invariant)
{
    bool found = false;
    for (int i = 0; i < set->arg_count; i++)
        found |= set->args[i].micro_stride != 0;
    for (int i = 0; i < set->operand_count; i++)
        found |=
            set->operands[i].access == MW_ACCESS_READ_WRITE ||
            (set->operands[i].access == MW_ACCESS_READ && !is_invariant[set->operands[i].buffer]);
    return found;
}

/* Marks what a set writes if it differs; true if that was not known. */
static bool spread(const OperandSet *set, bool is_received, bool *is_invariant)
{
    bool changes = false;
    if (!is_received && !differs(set, is_invariant))
        return false;
    for (int i = 0; i < set->operand_count; i++) {
        bool *is_same = &is_invariant[set->operands[i].buffer];
        if (set->operands[i].access == MW_ACCESS_READ || !*is_same)
            continue;
        *is_same = false;
        changes = true;
    }
    return changes;
}

/* The same for all sets of an instruction. */
static bool spread_sets(const MwPlan *plan, const MwPlanInstr *instr, bool *is_invariant)
{
    bool changes = false;
    for (int i = 0; i < mw_plan_instr_sets(plan, instr); i++) {
        const OperandSet set = set_at(plan, instr, i);
        changes |= spread(&set, instr->kind == MW_INSTR_RECEIVE, is_invariant);
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
                changes |= spread_sets(plan, &mesh->programs[p].instrs[i], is_invariant);
    }
    return is_invariant;
}
