/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which kernels are flat (codegen/kernel/kernel.h), and their last argument. */
#include "codegen/kernel/kernel.h"

static bool is_access(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_LOAD || instr->op == MW_KERNEL_STORE;
}

/* Whether the instruction accesses element i of its operand at point i. */
static bool is_in_step(const MwKernelInstr *instr)
{
    return instr->at.stride[0] == 1 && instr->at.offset == 0 && instr->at.arg_count == 0;
}

/* Whether all accesses of an operand are at the element of the point, or none depends on the
 * point. */
static bool accesses_allow(const MwNest *nest, int operand)
{
    int in_step = 0, fixed = 0, others = 0;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (!is_access(instr) || instr->operand != operand)
            continue;
        bool moves = instr->input_count > mw_instr_is_effect(instr);
        in_step += !moves && instr->level == MW_LEVEL_POINT && is_in_step(instr);
        fixed += !moves && instr->level != MW_LEVEL_POINT && instr->at.stride[0] == 0;
        others++;
    }
    return in_step == others || fixed == others;
}

/* Whether a value of the points depends on a sum over them. */
static bool walks_twice(const MwNest *nest, const MwKernelInstr *instr)
{
    for (int k = 0; k < instr->input_count && instr->level == MW_LEVEL_POINT; k++)
        if (mw_nest_instr(nest, instr->inputs[k])->level == MW_LEVEL_ROW)
            return true;
    return false;
}

static bool instr_allows(const MwNest *nest, const MwKernelInstr *instr, bool reduces)
{
    bool of_points = instr->level == MW_LEVEL_POINT;
    switch (instr->op) {
    case MW_KERNEL_ADD:
    case MW_KERNEL_COLUMN_SUM:
    case MW_KERNEL_COLUMN_MAX:
        return false;
    case MW_KERNEL_INDEX:
        return !of_points;
    case MW_KERNEL_STORE:
        return of_points != reduces && instr->level != MW_LEVEL_UNIFORM;
    case MW_KERNEL_LOAD:
    case MW_KERNEL_ARG:
    case MW_KERNEL_EXPR:
    case MW_KERNEL_ROW_SUM:
    case MW_KERNEL_ROW_MAX:
    case MW_KERNEL_TOTAL_SUM:
    case MW_KERNEL_TOTAL_MAX:
        return !reduces || !walks_twice(nest, instr);
    }
    MW_UNREACHABLE();
}

static bool is_flat(const MwKernelDef *kernel)
{
    const MwNest *nest = &kernel->nests.at[0];
    bool reduces = false;
    if (kernel->nests.count != 1 || nest->space.dim_count != 1 || nest->space.row_dims != 0)
        return false;
    for (int i = 0; i < nest->instrs.count; i++)
        reduces |= mw_instr_is_reduction(&nest->instrs.at[i]);
    for (int i = 0; i < nest->instrs.count; i++)
        if (!instr_allows(nest, &nest->instrs.at[i], reduces))
            return false;
    for (int i = 0; i < kernel->operands.count; i++)
        if (!accesses_allow(nest, i))
            return false;
    return true;
}

/* Turns totals into rows: with one row they are the same. */
static void make_totals_rows(MwNest *nest)
{
    for (int i = 0; i < nest->instrs.count; i++) {
        MwKernelInstr *instr = &nest->instrs.at[i];
        if (mw_instr_reduces_all(instr)) {
            instr->op = MW_KERNEL_EXPR;
            instr->text = "$0";
        }
        if (instr->level == MW_LEVEL_TOTAL)
            instr->level = MW_LEVEL_ROW;
    }
}

void mw_kernel_flatten(MwKernelDef *kernel)
{
    MW_ASSERT(!kernel->is_flat && !kernel->scratch_bytes);
    if (!is_flat(kernel))
        return;
    kernel->is_flat = true;
    make_totals_rows(&kernel->nests.at[0]);
    MwPlanArg points = {.kind = MW_ARG_INT, .i = kernel->nests.at[0].space.size[0]};
    mw_vec_push(kernel->arena, &kernel->args, points);
}
