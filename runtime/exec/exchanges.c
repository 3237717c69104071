/* SPDX-License-Identifier: MIT */
#include "runtime/exec/exchanges.h"

MwExchange mw_exchange_of_part(const MwPlanInstr *instr, int part, const void *source,
                               void *destination)
{
    return (MwExchange){.kind = (MwCollective)instr->target,
                        .axis = instr->axis,
                        .type = instr->type,
                        .combine = instr->combine,
                        .count = mw_plan_part_count(instr, part),
                        .source = source,
                        .destination = destination};
}

static bool are_alike(const MwExchange *a, const MwExchange *b)
{
    return a->kind == b->kind && a->axis == b->axis && a->type == b->type &&
           a->combine == b->combine && a->count == b->count;
}

static void add(MwArena *arena, MwExchanges *exchanges, MwExchange exchange)
{
    int i = 0;
    while (i < exchanges->count && !are_alike(&exchanges->at[i], &exchange))
        i++;
    if (i == exchanges->count)
        mw_vec_push(arena, exchanges, exchange);
}

static void *first_slot(const MwPlanMesh *mesh, int buffer, char *memory)
{
    return memory + mw_plan_slot_offset(&mesh->buffers[buffer], -1);
}

static void add_parts(MwArena *arena, MwExchanges *exchanges, const MwPlanMesh *mesh, char *memory,
                      const MwPlanInstr *instr)
{
    for (int i = 0; i < mw_plan_part_total(instr); i++)
        add(arena, exchanges,
            mw_exchange_of_part(instr, i, first_slot(mesh, instr->operands[2 * i].buffer, memory),
                                first_slot(mesh, instr->operands[2 * i + 1].buffer, memory)));
}

void mw_exchanges_add(MwArena *arena, MwExchanges *exchanges, const MwPlanMesh *mesh, char *memory)
{
    for (int p = 0; p < mesh->program_count; p++)
        for (int i = 0; i < mesh->programs[p].instr_count; i++) {
            const MwPlanInstr *instr = &mesh->programs[p].instrs[i];
            if (instr->kind == MW_INSTR_COLLECTIVE && mesh->shape.size[instr->axis] > 1)
                add_parts(arena, exchanges, mesh, memory, instr);
        }
}
