/* SPDX-License-Identifier: MIT */
#include "runtime/exec/acts.h"

#include "runtime/exec/hazards.h"

typedef struct {
    MwArena *arena; /* of this work alone */
    const MwPlanMesh *mesh;
    const MwTraffic *traffic;
    MwQueue collectives;
    MW_VEC(MwAct) acts;
    MwOps ops; /* one for each act, where there are two queues */
} Builder;

static const MwPlanTask *task_of(const Builder *b, const MwAct *act)
{
    return &b->mesh->tasks[act->task];
}

static const MwPlanInstr *instr_of(const Builder *b, const MwAct *act)
{
    return &b->mesh->programs[task_of(b, act)->program].instrs[act->instr];
}

/* ---- The plan's order ---- */

static bool is_message(const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE;
}

static MwQueue queue_of(const Builder *b, const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_COLLECTIVE && b->mesh->shape.size[instr->axis] > 1
               ? b->collectives
               : MW_QUEUE_COMPUTE;
}

static void add_act(Builder *b, MwAct act)
{
    act.wait = act.mark = -1;
    mw_vec_push(b->arena, &b->acts, act);
}

static void add_task(Builder *b, int task)
{
    const int index = b->mesh->tasks[task].program;
    const MwPlanProgram *program = &b->mesh->programs[index];
    const MwTrafficProgram *traffic = &b->traffic->programs[index];
    int event = 0;
    add_act(b, (MwAct){.kind = MW_ACT_TASK, .task = task, .instr = -1});
    for (int i = -1; i < program->instr_count; i++) {
        const int first = event;
        while (event < traffic->event_count && traffic->events[event].instr == i)
            event++;
        if (i < 0)
            continue; /* of MW_ACT_TASK */
        if (event > first)
            add_act(b, (MwAct){MW_ACT_EVENTS, .task = task, .instr = i, .event = first});
        add_act(b, (MwAct){MW_ACT_INSTR, queue_of(b, &program->instrs[i]), task, i, .event = -1});
    }
    add_act(b, (MwAct){.kind = MW_ACT_TASK_END, .task = task, .instr = -1});
}

static void add_acts(Builder *b)
{
    add_act(b, (MwAct){.kind = MW_ACT_BEGIN, .task = -1, .instr = -1});
    for (int t = 0; t < b->mesh->task_count; t++)
        add_task(b, t);
    add_act(b, (MwAct){.kind = MW_ACT_END, .task = -1, .instr = -1});
}

/* ---- What acts reach ---- */

/* The slot of a micro-batch. */
static void reach_slot(Builder *b, int buffer, int micro_batch, bool writes)
{
    const MwPlanBuffer *at = &b->mesh->buffers[buffer];
    const int64_t begin = mw_plan_slot_offset(at, micro_batch);
    mw_ops_reach(b->arena, &b->ops, (MwReach){begin, begin + at->bytes, writes});
}

static void reach_all(Builder *b)
{
    mw_ops_reach(b->arena, &b->ops, (MwReach){0, b->mesh->arena_bytes, true});
}

/* Behind a wait for a send its buffer may be written; behind a receive there is what came. */
static void reach_event(Builder *b, const MwTrafficEvent *event, int micro_batch)
{
    const int buffer = b->traffic->lines[event->line].buffer;
    const MwPlanBuffer *at = &b->mesh->buffers[buffer];
    if (event->kind == MW_TRAFFIC_WAIT_ALL)
        mw_ops_reach(b->arena, &b->ops,
                     (MwReach){at->offset, at->offset + mw_plan_buffer_bytes(at), false});
    else
        reach_slot(b, buffer, micro_batch, event->kind == MW_TRAFFIC_RECEIVE);
}

static void reach_events(Builder *b, const MwAct *act, int first)
{
    const MwPlanTask *task = task_of(b, act);
    const MwTrafficProgram *traffic = &b->traffic->programs[task->program];
    for (int e = first; e < traffic->event_count && traffic->events[e].instr == act->instr; e++)
        reach_event(b, &traffic->events[e], task->micro_batch);
}

static void reach_inputs(Builder *b, const MwPlanTask *task)
{
    for (int i = 0; i < b->mesh->input_count; i++)
        if (b->mesh->inputs[i].program == task->program)
            reach_slot(b, b->mesh->inputs[i].buffer, task->micro_batch, true);
}

static void reach_instr(Builder *b, const MwAct *act)
{
    const MwPlanInstr *instr = instr_of(b, act);
    for (int i = 0; i < instr->operand_count && !is_message(instr); i++)
        reach_slot(b, instr->operands[i].buffer, task_of(b, act)->micro_batch,
                   instr->operands[i].access != MW_ACCESS_READ);
}

/* Messages that are posted ahead may begin to come into what the task has used. */
static void reach_task_end(Builder *b, const MwPlanTask *task)
{
    const MwTrafficProgram *traffic = &b->traffic->programs[task->program];
    for (int i = 0; i < b->mesh->output_count; i++)
        if (b->mesh->outputs[i].program == task->program)
            reach_slot(b, b->mesh->outputs[i].buffer, task->micro_batch, false);
    for (int i = 0; i < traffic->line_count; i++)
        reach_slot(b, b->traffic->lines[traffic->lines[i]].buffer, task->micro_batch, true);
}

static void add_op(Builder *b, const MwAct *act)
{
    mw_ops_add(b->arena, &b->ops, act->queue);
    switch (act->kind) {
    case MW_ACT_BEGIN:
    case MW_ACT_END:
        reach_all(b);
        break;
    case MW_ACT_TASK:
        reach_events(b, act, 0);
        reach_inputs(b, task_of(b, act));
        break;
    case MW_ACT_EVENTS:
        reach_events(b, act, act->event);
        break;
    case MW_ACT_INSTR:
        reach_instr(b, act);
        break;
    case MW_ACT_TASK_END:
        reach_task_end(b, task_of(b, act));
        break;
    }
}

/* ---- The order of acts ---- */

static bool *find_movable(const Builder *b)
{
    bool *may_move = MW_NEW(b->arena, bool, b->acts.count);
    for (int i = 0; i < b->acts.count; i++)
        may_move[i] = b->acts.at[i].queue == MW_QUEUE_COMMUNICATION &&
                      task_of(b, &b->acts.at[i])->micro_batch < 0;
    return may_move;
}

static void order_acts(Builder *b, MwActs *acts)
{
    for (int i = 0; i < b->acts.count; i++)
        add_op(b, &b->acts.at[i]);
    const int32_t *order = mw_hazards_advance(b->arena, &b->ops, find_movable(b));
    const MwOrdering *orderings = mw_hazards_find(b->arena, &b->ops, order, &acts->mark_count);
    for (int i = 0; i < acts->count; i++) {
        acts->at[i] = b->acts.at[order[i]];
        acts->at[i].wait = orderings[order[i]].wait;
        acts->at[i].mark = orderings[order[i]].mark;
    }
}

static bool has_two_queues(const Builder *b)
{
    for (int i = 0; i < b->acts.count; i++)
        if (b->acts.at[i].queue != MW_QUEUE_COMPUTE)
            return true;
    return false;
}

MwActs mw_acts(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
               MwQueue collectives)
{
    Builder b = {
        .arena = mw_arena_new(), .mesh = mesh, .traffic = traffic, .collectives = collectives};
    add_acts(&b);
    MwActs acts = {.at = mw_arena_dup(arena, b.acts.at, sizeof *b.acts.at * (size_t)b.acts.count),
                   .count = b.acts.count};
    if (has_two_queues(&b))
        order_acts(&b, &acts);
    mw_arena_free(&b.arena);
    return acts;
}
