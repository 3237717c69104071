/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/kernel/phases.h"

#include "codegen/tuning.h"

/* Says whether the columns are walked for the sake of the instruction: it is a store or a
 * reduction. */
static bool is_root(const MwKernelInstr *instr)
{
    return mw_instr_reduces_row(instr) || mw_instr_reduces_rows(instr) ||
           (mw_instr_is_effect(instr) && instr->level == MW_LEVEL_POINT);
}

/* Finds the first phase in which each instruction can run, and the number of phases. */
static void find_phases(const MwKernelDef *kernel, const MwNest *nest, MwPhases *phases)
{
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        int phase = 0;
        for (int k = 0; k < instr->input_count; k++) {
            int input = instr->inputs[k].index;
            phase = (int)mw_max(phase, phases->phase[input] +
                                           mw_instr_reduces_row(&nest->instrs.at[input]));
        }
        phases->phase[i] = phase;
        int ends = phase + 1 + mw_instr_reduces_row(instr);
        phases->count = (int)mw_max(phases->count, ends);
    }
    /* An operand that is both read and written is written in the last phase, after all reads. */
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (instr->op == MW_KERNEL_STORE && instr->level == MW_LEVEL_POINT &&
            kernel->operands.at[instr->operand].reads)
            phases->phase[i] = phases->count - 1;
    }
}

/* Returns the floating-point operations that compute value i again from loaded values. */
static int recompute_flops(const MwNest *nest, int i)
{
    const MwKernelInstr *instr = &nest->instrs.at[i];
    if (instr->level != MW_LEVEL_POINT || mw_instr_reduces_row(instr))
        return 0;
    int flops = instr->op == MW_KERNEL_EXPR ? instr->flops : 0;
    for (int k = 0; k < instr->input_count && flops < 1000; k++)
        flops += recompute_flops(nest, instr->inputs[k].index);
    return flops;
}

/* Says whether value i depends on an element that is loaded at its point. */
static bool depends_on_load(const MwNest *nest, int i)
{
    const MwKernelInstr *instr = &nest->instrs.at[i];
    if (instr->level != MW_LEVEL_POINT || mw_instr_reduces_row(instr))
        return false;
    if (instr->op == MW_KERNEL_LOAD)
        return true;
    for (int k = 0; k < instr->input_count; k++)
        if (depends_on_load(nest, instr->inputs[k].index))
            return true;
    return false;
}

/* Whether each row has elements of its own there; those that rows share are in a cache. */
static bool is_of_row(const MwNest *nest, const MwKernelInstr *instr)
{
    for (int d = 0; d < nest->space.row_dims; d++)
        if (instr->at.stride[d])
            return true;
    return false;
}

/* Whether a later phase is the first that needs what instruction i loads of a row, and the first
 * could load it. */
static bool may_come_first(const MwNest *nest, const MwPhases *phases, int i)
{
    const MwKernelInstr *instr = &nest->instrs.at[i];
    bool is_needed = false;
    for (int p = 1; p < phases->count; p++)
        is_needed |= phases->runs[p][i];
    return instr->op == MW_KERNEL_LOAD && instr->level == MW_LEVEL_POINT && is_needed &&
           is_of_row(nest, instr) && phases->phase[i] == 0 && !phases->runs[0][i] &&
           !phases->is_empty[0];
}

/* Chooses the values that are kept: several phases need them, and computing them again costs
 * more; or `comes_first`: the first phase loads them for later ones. */
static void choose_kept(const MwNest *nest, MwPhases *phases, MwPhaseLoads loads, bool *comes_first)
{
    for (int i = 0; i < nest->instrs.count; i++) {
        bool is_expr = nest->instrs.at[i].op == MW_KERNEL_EXPR;
        if (!is_expr && nest->instrs.at[i].op != MW_KERNEL_LOAD)
            continue;
        int users = 0; /* phases */
        for (int p = 0; p < phases->count; p++)
            users += phases->runs[p][i];
        comes_first[i] = loads == MW_LOADS_FIRST && may_come_first(nest, phases, i);
        phases->kept[i] = comes_first[i] ||
                          (users > 1 && (recompute_flops(nest, i) > MW_TUNED_RECOMPUTE_FLOPS ||
                                         (loads != MW_LOADS_REPEATED && depends_on_load(nest, i))));
    }
}

bool mw_phases_reads_back(const MwPhases *phases, int p, int i)
{
    if (!phases->kept[i])
        return false;
    for (int earlier = 0; earlier < p; earlier++)
        if (phases->runs[earlier][i])
            return true;
    return false;
}

/* Marks the instructions that the roots of phase p need and that no earlier phase kept. */
static void mark_runs(const MwNest *nest, MwPhases *phases, const bool *comes_first, int p)
{
    bool *runs = phases->runs[p];
    phases->is_empty[p] = true;
    for (int i = 0; i < nest->instrs.count; i++)
        runs[i] = false;
    for (int i = nest->instrs.count - 1; i >= 0; i--) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        bool root = phases->phase[i] == p && (is_root(instr) || comes_first[i]);
        runs[i] = runs[i] || root;
        phases->is_empty[p] = phases->is_empty[p] && !runs[i];
        if (!runs[i] || mw_phases_reads_back(phases, p, i))
            continue;
        for (int k = 0; k < instr->input_count; k++) {
            int input = instr->inputs[k].index;
            if (nest->instrs.at[input].level == MW_LEVEL_POINT)
                runs[input] = true;
        }
    }
}

/* Drops kept values that no phase reads back. */
static void drop_idle(const MwNest *nest, MwPhases *phases)
{
    for (int i = 0; i < nest->instrs.count; i++) {
        bool is_read = false;
        for (int p = 0; p < phases->count; p++)
            is_read |= phases->runs[p][i] && mw_phases_reads_back(phases, p, i);
        phases->kept[i] = is_read;
    }
}

MwPhases mw_phases_plan(MwArena *arena, const MwKernelDef *kernel, const MwNest *nest,
                        int64_t most_columns, MwPhaseLoads loads)
{
    int count = nest->instrs.count;
    MwPhases phases = {.phase = MW_NEW(arena, int, count), .kept = MW_NEW(arena, bool, count)};
    bool *comes_first = MW_NEW(arena, bool, count);
    find_phases(kernel, nest, &phases);
    phases.runs = MW_NEW(arena, bool *, phases.count);
    phases.is_empty = MW_NEW(arena, bool, phases.count);
    for (int p = 0; p < phases.count; p++) {
        phases.runs[p] = MW_NEW(arena, bool, count);
        mark_runs(nest, &phases, comes_first, p); /* as if nothing were kept */
    }
    if (mw_space_columns(&nest->space) <= most_columns)
        choose_kept(nest, &phases, loads, comes_first);
    for (int p = 0; p < phases.count; p++)
        mark_runs(nest, &phases, comes_first, p);
    drop_idle(nest, &phases);
    return phases;
}

int mw_phases_most_kept(const MwPhases *phases, const MwNest *nest)
{
    int most = 0;
    for (int p = 0; p + 1 < phases->count; p++) {
        int kept = 0;
        for (int i = 0; i < nest->instrs.count; i++) {
            bool is_read = false;
            for (int later = p + 1; later < phases->count; later++)
                is_read |= phases->runs[later][i];
            kept += is_read && mw_phases_reads_back(phases, p + 1, i);
        }
        most = (int)mw_max(most, kept);
    }
    return most;
}
