/* SPDX-License-Identifier: MIT */
#include "runtime/exec/commands.h"

#include "runtime/exec/hazards.h"

typedef struct {
    MwArena *arena; /* scratch memory */
    const MwPlanMesh *mesh;
    const MwTraffic *traffic;
    MwQueue collectives;
    MW_VEC(MwCommand) commands;
    MwHazardOps ops; /* one for each command, where there are two queues */
} Builder;

static const MwPlanTask *task_of(const Builder *b, const MwCommand *command)
{
    return &b->mesh->tasks[command->task];
}

static const MwPlanInstr *instr_of(const Builder *b, const MwCommand *command)
{
    return &b->mesh->programs[task_of(b, command)->program].instrs[command->instr];
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

static void add_command(Builder *b, MwCommand command)
{
    command.wait_event = command.record_event = -1;
    mw_vec_push(b->arena, &b->commands, command);
}

static void add_task(Builder *b, int task)
{
    const int index = b->mesh->tasks[task].program;
    const MwPlanProgram *program = &b->mesh->programs[index];
    const MwTrafficProgram *traffic = &b->traffic->programs[index];
    int op = 0;
    add_command(b, (MwCommand){.kind = MW_COMMAND_BEGIN_TASK, .task = task, .instr = -1});
    for (int i = -1; i < program->instr_count; i++) {
        const int first = op;
        while (op < traffic->op_count && traffic->ops[op].instr == i)
            op++;
        if (i < 0)
            continue; /* traffic of MW_COMMAND_BEGIN_TASK */
        if (op > first)
            add_command(
                b, (MwCommand){
                       .kind = MW_COMMAND_TRAFFIC, .task = task, .instr = i, .traffic_op = first});
        add_command(b, (MwCommand){.kind = MW_COMMAND_INSTR,
                                   .queue = queue_of(b, &program->instrs[i]),
                                   .task = task,
                                   .instr = i});
    }
    add_command(b, (MwCommand){.kind = MW_COMMAND_END_TASK, .task = task, .instr = -1});
}

static void add_commands(Builder *b)
{
    add_command(b, (MwCommand){.kind = MW_COMMAND_BEGIN_STEP, .task = -1, .instr = -1});
    for (int t = 0; t < b->mesh->task_count; t++)
        add_task(b, t);
    add_command(b, (MwCommand){.kind = MW_COMMAND_END_STEP, .task = -1, .instr = -1});
}

/* ---- The bytes that commands access ---- */

/* The slot that a micro-batch has in a buffer. */
static void access_slot(Builder *b, int buffer, int micro_batch, bool writes)
{
    const MwPlanBuffer *at = &b->mesh->buffers[buffer];
    const int64_t begin = mw_plan_slot_offset(at, micro_batch);
    mw_hazard_ops_access(b->arena, &b->ops, (MwByteAccess){begin, begin + at->bytes, writes});
}

static void access_arena(Builder *b)
{
    mw_hazard_ops_access(b->arena, &b->ops, (MwByteAccess){0, b->mesh->arena_bytes, true});
}

/* After a wait for a send, commands may write its buffer; a receive writes its buffer. */
static void access_traffic_op(Builder *b, const MwTrafficOp *op, int micro_batch)
{
    const int buffer = b->traffic->endpoints[op->endpoint].buffer;
    const MwPlanBuffer *at = &b->mesh->buffers[buffer];
    if (op->kind == MW_TRAFFIC_WAIT_ALL)
        mw_hazard_ops_access(
            b->arena, &b->ops,
            (MwByteAccess){at->offset, at->offset + mw_plan_buffer_bytes(at), false});
    else
        access_slot(b, buffer, micro_batch, op->kind == MW_TRAFFIC_RECEIVE);
}

/* The operations at the command's instruction, of which the first is `first`. */
static void access_traffic(Builder *b, const MwCommand *command, int first)
{
    const MwPlanTask *task = task_of(b, command);
    const MwTrafficProgram *traffic = &b->traffic->programs[task->program];
    for (int i = first; i < traffic->op_count && traffic->ops[i].instr == command->instr; i++)
        access_traffic_op(b, &traffic->ops[i], task->micro_batch);
}

static void access_inputs(Builder *b, const MwPlanTask *task)
{
    for (int i = 0; i < b->mesh->input_count; i++)
        if (b->mesh->inputs[i].program == task->program)
            access_slot(b, b->mesh->inputs[i].buffer, task->micro_batch, true);
}

static void access_operands(Builder *b, const MwCommand *command)
{
    const MwPlanInstr *instr = instr_of(b, command);
    for (int i = 0; i < instr->operand_count && !is_message(instr); i++)
        access_slot(b, instr->operands[i].buffer, task_of(b, command)->micro_batch,
                    instr->operands[i].access != MW_ACCESS_READ);
}

/* Receives that are posted ahead may write the slots that the task has used. */
static void access_task_end(Builder *b, const MwPlanTask *task)
{
    const MwTrafficProgram *traffic = &b->traffic->programs[task->program];
    for (int i = 0; i < b->mesh->output_count; i++)
        if (b->mesh->outputs[i].program == task->program)
            access_slot(b, b->mesh->outputs[i].buffer, task->micro_batch, false);
    for (int i = 0; i < traffic->ahead_count; i++)
        access_slot(b, b->traffic->endpoints[traffic->ahead[i]].buffer, task->micro_batch, true);
}

static void add_op(Builder *b, const MwCommand *command)
{
    mw_hazard_ops_add(b->arena, &b->ops, command->queue);
    switch (command->kind) {
    case MW_COMMAND_BEGIN_STEP:
    case MW_COMMAND_END_STEP:
        access_arena(b);
        break;
    case MW_COMMAND_BEGIN_TASK:
        access_traffic(b, command, 0);
        access_inputs(b, task_of(b, command));
        break;
    case MW_COMMAND_TRAFFIC:
        access_traffic(b, command, command->traffic_op);
        break;
    case MW_COMMAND_INSTR:
        access_operands(b, command);
        break;
    case MW_COMMAND_END_TASK:
        access_task_end(b, task_of(b, command));
        break;
    }
}

/* ---- The order on two queues ---- */

static bool *find_movable(const Builder *b)
{
    bool *may_move = MW_NEW(b->arena, bool, b->commands.count);
    for (int i = 0; i < b->commands.count; i++)
        may_move[i] = b->commands.at[i].queue == MW_QUEUE_COMMUNICATION &&
                      task_of(b, &b->commands.at[i])->micro_batch < 0;
    return may_move;
}

static void order_commands(Builder *b, MwCommandList *list)
{
    for (int i = 0; i < b->commands.count; i++)
        add_op(b, &b->commands.at[i]);
    const int32_t *order = mw_hazards_hoist(b->arena, &b->ops, find_movable(b));
    const MwHazardSync *syncs = mw_hazards_find(b->arena, &b->ops, order, &list->event_count);
    for (int i = 0; i < list->count; i++) {
        list->at[i] = b->commands.at[order[i]];
        list->at[i].wait_event = syncs[order[i]].wait;
        list->at[i].record_event = syncs[order[i]].record;
    }
}

static bool has_two_queues(const Builder *b)
{
    for (int i = 0; i < b->commands.count; i++)
        if (b->commands.at[i].queue != MW_QUEUE_COMPUTE)
            return true;
    return false;
}

MwCommandList mw_command_list(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                              MwQueue collectives)
{
    Builder b = {
        .arena = mw_arena_new(), .mesh = mesh, .traffic = traffic, .collectives = collectives};
    add_commands(&b);
    MwCommandList list = {
        .at = mw_arena_dup(arena, b.commands.at, sizeof *b.commands.at * (size_t)b.commands.count),
        .count = b.commands.count};
    if (has_two_queues(&b))
        order_commands(&b, &list);
    mw_arena_free(&b.arena);
    return list;
}
