/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/reuse.h"

#include "codegen/plan/accesses.h"

#include <math.h>

struct MwReuse {
    MwArena *arena;
    const MwPlanBuffer *buffers;
    MwAccesses *accesses;
    double arena_bytes;
    MW_VEC(double) before; /* bytes used before each instruction */
    double used;           /* bytes */
};

MwReuse *mw_reuse_new(MwArena *arena, const MwPlanBuffer *buffers, int buffer_count,
                      int64_t arena_bytes)
{
    MwReuse *reuse = MW_NEW(arena, MwReuse, 1);
    *reuse = (MwReuse){.arena = arena,
                       .buffers = buffers,
                       .accesses = mw_accesses_new(arena, buffers, buffer_count),
                       .arena_bytes = (double)arena_bytes};
    return reuse;
}

static void find_last(void *last, int instr)
{
    *(int *)last = (int)mw_max(*(int *)last, instr);
}

/* Bytes used since the buffer was. */
static double distance(const MwReuse *reuse, int buffer)
{
    int last = -1;
    mw_accesses_before(reuse->accesses, buffer, true, find_last, &last);
    return last < 0 ? reuse->arena_bytes
                    : fmin(reuse->used - reuse->before.at[last], reuse->arena_bytes);
}

static void note(MwReuse *reuse, const MwPlanInstr *instr, double bytes)
{
    const int number = reuse->before.count;
    mw_vec_push(reuse->arena, &reuse->before, reuse->used);
    reuse->used += bytes;
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access == MW_ACCESS_READ)
            mw_accesses_read(reuse->accesses, instr->operands[k].buffer, number);
        else
            mw_accesses_write(reuse->accesses, instr->operands[k].buffer, number);
}

double mw_reuse_bytes(const MwReuse *reuse)
{
    return reuse->used;
}

void mw_reuse_repeat(MwReuse *reuse, double since_bytes, int64_t runs)
{
    reuse->used += (double)(runs - 1) * (reuse->used - since_bytes);
}

/* What is known of an operand is its buffer; of all together, how many bytes of them are used. */
double mw_reuse_s(MwReuse *reuse, const MwCostModel *model, const MwPlanInstr *instr, double bytes)
{
    double all = 0, time_s = 0;
    if (model->cluster->device.bandwidth.count == 1)
        return 0;
    for (int k = 0; k < instr->operand_count; k++) {
        const int buffer = instr->operands[k].buffer;
        const double part = fmin((double)reuse->buffers[buffer].bytes, bytes);
        all += part;
        time_s += mw_cost_memory_s(model, part, distance(reuse, buffer));
    }
    note(reuse, instr, bytes);
    return all > 0 ? time_s * bytes / all : 0;
}
