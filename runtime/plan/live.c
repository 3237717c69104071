/* SPDX-License-Identifier: MIT */
#include "runtime/plan/live.h"

/* A slot of a buffer. */
typedef struct {
    int begin; /* point from which it holds its value; -1: it has none yet */
    int last;  /* the last point that reads it, or the one that wrote it */
} Slot;

typedef struct {
    const MwPlanMesh *mesh;
    MwPlanLive live;
    Slot *slots;
    int *first_slot;   /* [buffers] index into slots */
    int *seen_in_loop; /* [buffers] point of the loop in which it was seen last, plus 1 */
    MwArena *arena;
    int watched; /* the point whose slots are listed; -1: none */
    MwPlanLiveSlots at_watched;
} Walk;

static Slot *slot_at(const Walk *walk, int buffer, int micro_batch)
{
    const int slot = mw_plan_slot(&walk->mesh->buffers[buffer], micro_batch);
    return &walk->slots[walk->first_slot[buffer] + slot];
}

/* Adds the bytes of a value that is complete: to its first point, and, less, behind its last. */
static void end_value(Walk *walk, int buffer, Slot *slot)
{
    const int points = walk->live.first[walk->mesh->task_count];
    const MwPlanBuffer *of = &walk->mesh->buffers[buffer];
    const int64_t bytes = of->bytes;
    if (slot->begin < 0 || of->persistent || mw_plan_is_on_host(walk->mesh, of))
        return;
    walk->live.bytes[slot->begin] += bytes;
    if (slot->last + 1 < points)
        walk->live.bytes[slot->last + 1] -= bytes;
    if (slot->begin <= walk->watched && walk->watched <= slot->last)
        mw_vec_push(
            walk->arena, &walk->at_watched,
            ((MwPlanLiveSlot){buffer, (int)(slot - walk->slots) - walk->first_slot[buffer]}));
}

static void write_slot(Walk *walk, int buffer, int micro_batch, int point)
{
    Slot *slot = slot_at(walk, buffer, micro_batch);
    end_value(walk, buffer, slot);
    *slot = (Slot){point, point};
}

/* What nothing has written is there from the beginning. */
static void read_slot(Walk *walk, int buffer, int micro_batch, int point)
{
    Slot *slot = slot_at(walk, buffer, micro_batch);
    slot->begin = (int)mw_max(slot->begin, 0);
    slot->last = (int)mw_max(slot->last, point);
}

static void walk_instr(Walk *walk, const MwPlanInstr *instr, int micro_batch, int point)
{
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access != MW_ACCESS_WRITE)
            read_slot(walk, instr->operands[k].buffer, micro_batch, point);
    for (int k = 0; k < instr->operand_count; k++)
        if (instr->operands[k].access == MW_ACCESS_WRITE)
            write_slot(walk, instr->operands[k].buffer, micro_batch, point);
}

/* What a run of a loop reads before it writes it, the next run reads too, so that it lives to the
 * end of the loop. `point` is that of the loop's first instruction. */
static void end_loop(Walk *walk, const MwPlanProgram *program, const MwPlanLoop *loop,
                     int micro_batch, int point)
{
    for (int i = loop->first; i < loop->first + loop->count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        for (int k = 0; k < instr->operand_count; k++) {
            const int buffer = instr->operands[k].buffer;
            if (walk->seen_in_loop[buffer] == point + 1)
                continue;
            walk->seen_in_loop[buffer] = point + 1;
            if (instr->operands[k].access != MW_ACCESS_WRITE)
                read_slot(walk, buffer, micro_batch, point + loop->count - 1);
        }
    }
}

/* The inputs are there when the task begins, the outputs are taken when it ends. */
static void walk_task(Walk *walk, int index)
{
    const MwPlanMesh *mesh = walk->mesh;
    const MwPlanTask *task = &mesh->tasks[index];
    const MwPlanProgram *program = &mesh->programs[task->program];
    const int begin = walk->live.first[index], end = walk->live.first[index + 1] - 1;
    for (int i = 0; i < mesh->input_count; i++)
        if (mesh->inputs[i].program == task->program)
            write_slot(walk, mesh->inputs[i].buffer, task->micro_batch, begin);
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanLoop *loop = mw_plan_loop_at(program, i);
        walk_instr(walk, &program->instrs[i], task->micro_batch, begin + i);
        if (loop && i == loop->first + loop->count - 1)
            end_loop(walk, program, loop, task->micro_batch, begin + loop->first);
    }
    for (int i = 0; i < mesh->output_count; i++)
        if (mesh->outputs[i].program == task->program)
            read_slot(walk, mesh->outputs[i].buffer, task->micro_batch, end);
}

/* What is taken when the step has ended; then all values are complete. */
static void end_step(Walk *walk)
{
    const MwPlanMesh *mesh = walk->mesh;
    const int end = walk->live.first[mesh->task_count] - 1;
    for (int i = 0; i < mesh->output_count; i++)
        if (mesh->outputs[i].program < 0)
            read_slot(walk, mesh->outputs[i].buffer, -1, end);
    for (int i = 0; i < mesh->metric_count; i++)
        read_slot(walk, mesh->metrics[i].buffer, -1, end);
    for (int b = 0; b < mesh->buffer_count; b++)
        for (int s = 0; s < mesh->buffers[b].slots; s++)
            end_value(walk, b, &walk->slots[walk->first_slot[b] + s]);
}

static int number_points(MwArena *arena, const MwPlanMesh *mesh, MwPlanLive *live)
{
    live->first = MW_NEW(arena, int, mesh->task_count + 1);
    for (int t = 0; t < mesh->task_count; t++)
        live->first[t + 1] =
            live->first[t] + (int)mw_max(mesh->programs[mesh->tasks[t].program].instr_count, 1);
    live->bytes = MW_NEW(arena, int64_t, live->first[mesh->task_count]);
    return live->first[mesh->task_count];
}

/* Adds a buffer, and gives the bytes of it that persist. */
static int64_t begin_buffer(Walk *walk, int buffer)
{
    const MwPlanBuffer *of = &walk->mesh->buffers[buffer];
    if (!of->persistent || mw_plan_is_on_host(walk->mesh, of))
        return 0;
    for (int s = 0; walk->watched >= 0 && s < of->slots; s++)
        mw_vec_push(walk->arena, &walk->at_watched, ((MwPlanLiveSlot){buffer, s}));
    return mw_plan_buffer_bytes(of);
}

static Walk walk_mesh(MwArena *arena, const MwPlanMesh *mesh, int watched)
{
    Walk walk = {.mesh = mesh,
                 .first_slot = MW_NEW(arena, int, mesh->buffer_count),
                 .seen_in_loop = MW_NEW(arena, int, mesh->buffer_count),
                 .arena = arena,
                 .watched = watched};
    const int points = number_points(arena, mesh, &walk.live);
    int slots = 0;
    int64_t bytes = 0;
    for (int b = 0; b < mesh->buffer_count; b++) {
        walk.first_slot[b] = slots;
        slots += mesh->buffers[b].slots;
        bytes += begin_buffer(&walk, b);
    }
    walk.slots = MW_NEW(arena, Slot, slots);
    for (int s = 0; s < slots; s++)
        walk.slots[s] = (Slot){-1, -1};
    for (int t = 0; t < mesh->task_count; t++)
        walk_task(&walk, t);
    end_step(&walk);
    for (int p = 0; p < points; p++) {
        bytes += walk.live.bytes[p];
        walk.live.bytes[p] = bytes;
    }
    return walk;
}

MwPlanLive mw_plan_live(MwArena *arena, const MwPlanMesh *mesh)
{
    return walk_mesh(arena, mesh, -1).live;
}

MwPlanLiveSlots mw_plan_live_at(MwArena *arena, const MwPlanMesh *mesh, int point)
{
    return walk_mesh(arena, mesh, point).at_watched;
}
