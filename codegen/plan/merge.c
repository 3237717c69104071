/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/merge.h"

/* Takes what stands before the next receive of a part; a loop has no receives. */
static void take_until_receive(const MwPlanProgram *part, int *at, MwPlanProgram *merged)
{
    for (; *at < part->instr_count && part->instrs[*at].kind != MW_INSTR_RECEIVE; (*at)++) {
        const MwPlanLoop *loop = mw_plan_loop_at(part, *at);
        if (loop && loop->first == *at)
            merged->loops[merged->loop_count++] =
                (MwPlanLoop){merged->instr_count, loop->count, loop->runs};
        merged->instrs[merged->instr_count++] = part->instrs[*at];
    }
}

/* The part whose next receive is of the lowest transfer; -1: none has any. */
static int lowest_receive(const MwPlanProgram *parts, const int *at, int count)
{
    int lowest = -1;
    for (int p = 0; p < count; p++)
        if (at[p] < parts[p].instr_count &&
            (lowest < 0 || parts[p].instrs[at[p]].target < parts[lowest].instrs[at[lowest]].target))
            lowest = p;
    return lowest;
}

MwPlanProgram mw_programs_merge(MwArena *arena, const char *name, const MwPlanProgram *parts,
                                int count)
{
    int total = 0, loops = 0, *at = MW_NEW(arena, int, count);
    for (int p = 0; p < count; p++) {
        total += parts[p].instr_count;
        loops += parts[p].loop_count;
    }
    MwPlanProgram merged = {.name = name,
                            .instrs = MW_NEW(arena, MwPlanInstr, total),
                            .loops = MW_NEW(arena, MwPlanLoop, loops)};
    for (int p = 0; p < count; p++)
        take_until_receive(&parts[p], &at[p], &merged);
    for (int p = lowest_receive(parts, at, count); p >= 0; p = lowest_receive(parts, at, count)) {
        merged.instrs[merged.instr_count++] = parts[p].instrs[at[p]++];
        take_until_receive(&parts[p], &at[p], &merged);
    }
    return merged;
}
