/* SPDX-License-Identifier: MIT */
#include "runtime/order/commands.h"

#include "runtime/order/graphs.h"
#include "runtime/order/hazards.h"
#include "runtime/plan/routine.h"

typedef struct {
    MwArena *arena; /* scratch memory */
    const MwPlanMesh *mesh;
    const MwTraffic *traffic;
    MwQueue collectives, copies;
    MW_VEC(MwCommand) commands;
    MwHazardOps ops; /* one for each command, where there are several queues */
} Builder;

static const MwPlanTask *task_of(const Builder *b, const MwCommand *command)
{
    return &b->mesh->tasks[command->task];
}

/* ---- The plan's order ---- */

static bool is_message(const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE;
}

/* Whether an instruction copies between the device and the host. */
static bool copies_across(const MwPlanMesh *mesh, const MwPlanInstr *instr)
{
    return instr->kind == MW_INSTR_ROUTINE && instr->target == MW_ROUTINE_COPY &&
           mw_plan_is_on_host(mesh, &mesh->buffers[instr->operands[0].buffer]) !=
               mw_plan_is_on_host(mesh, &mesh->buffers[instr->operands[1].buffer]);
}

static MwQueue queue_of(const Builder *b, const MwPlanInstr *instr)
{
    if (copies_across(b->mesh, instr))
        return b->copies;
    return instr->kind == MW_INSTR_COLLECTIVE && b->mesh->shape.size[instr->axis] > 1
               ? b->collectives
               : MW_QUEUE_COMPUTE;
}

static void add_command(Builder *b, MwCommand command)
{
    for (int k = 0; k < MW_COMMAND_WAITS; k++)
        command.wait_events[k] = -1;
    command.record_event = -1;
    mw_vec_push(b->arena, &b->commands, command);
}

/* The traffic at an instruction, of which the first operation is `*op`. */
static void add_traffic(Builder *b, int task, int instr, int *op)
{
    const MwTrafficProgram *traffic = &b->traffic->programs[b->mesh->tasks[task].program];
    const int first = *op;
    while (*op < traffic->op_count && traffic->ops[*op].instr == instr)
        (*op)++;
    if (*op > first && instr >= 0) /* before it is traffic of MW_COMMAND_BEGIN_TASK */
        add_command(
            b, (MwCommand){
                   .kind = MW_COMMAND_TRAFFIC, .task = task, .instr = instr, .traffic_op = first});
}

static void add_instr(Builder *b, int task, int instr, int run)
{
    const MwPlanProgram *program = &b->mesh->programs[b->mesh->tasks[task].program];
    add_command(b, (MwCommand){.kind = MW_COMMAND_INSTR,
                               .queue = queue_of(b, &program->instrs[instr]),
                               .task = task,
                               .instr = instr,
                               .run = run});
}

/* Adds a loop. Its traffic, which waits for what was sent before, precedes it. */
static void add_loop(Builder *b, int task, const MwPlanLoop *loop, int *op)
{
    const MwPlanProgram *program = &b->mesh->programs[b->mesh->tasks[task].program];
    bool is_one = true;
    for (int i = loop->first; i < loop->first + loop->count; i++) {
        add_traffic(b, task, i, op);
        is_one = is_one && queue_of(b, &program->instrs[i]) == MW_QUEUE_COMPUTE;
    }
    if (is_one)
        add_command(b, (MwCommand){.kind = MW_COMMAND_LOOP, .task = task, .instr = loop->first});
    for (int run = 0; run < loop->runs && !is_one; run++)
        for (int i = loop->first; i < loop->first + loop->count; i++)
            add_instr(b, task, i, run);
}

static void add_task(Builder *b, int task)
{
    const int index = b->mesh->tasks[task].program;
    const MwPlanProgram *program = &b->mesh->programs[index];
    int op = 0;
    add_command(b, (MwCommand){.kind = MW_COMMAND_BEGIN_TASK, .task = task, .instr = -1});
    add_traffic(b, task, -1, &op);
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanLoop *loop = mw_plan_loop_at(program, i);
        if (loop) {
            add_loop(b, task, loop, &op);
            i = loop->first + loop->count - 1;
            continue;
        }
        add_traffic(b, task, i, &op);
        add_instr(b, task, i, 0);
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
    mw_hazard_ops_access(b->arena, &b->ops, (MwByteAccess){0, mw_plan_mesh_end(b->mesh), true});
}

/* What waits for other ranks, by a byte behind all offsets. */
static void access_ranks(Builder *b)
{
    const int64_t at = mw_plan_mesh_end(b->mesh);
    mw_hazard_ops_access(b->arena, &b->ops, (MwByteAccess){at, at + 1, true});
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

static void access_operands(Builder *b, const MwCommand *command, int i)
{
    const MwPlanTask *task = task_of(b, command);
    const MwPlanInstr *instr = &b->mesh->programs[task->program].instrs[i];
    for (int k = 0; k < instr->operand_count && !is_message(instr); k++)
        access_slot(b, instr->operands[k].buffer, task->micro_batch,
                    instr->operands[k].access != MW_ACCESS_READ);
}

static void access_loop(Builder *b, const MwCommand *command)
{
    const MwPlanLoop *loop =
        mw_plan_loop_at(&b->mesh->programs[task_of(b, command)->program], command->instr);
    for (int i = loop->first; i < loop->first + loop->count; i++)
        access_operands(b, command, i);
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

static void access_command(Builder *b, const MwCommand *command)
{
    switch (command->kind) {
    case MW_COMMAND_BEGIN_STEP:
    case MW_COMMAND_END_STEP:
    case MW_COMMAND_BEGIN_GRAPH:
    case MW_COMMAND_END_GRAPH:
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
        access_operands(b, command, command->instr);
        break;
    case MW_COMMAND_LOOP:
        access_loop(b, command);
        break;
    case MW_COMMAND_END_TASK:
        access_task_end(b, task_of(b, command));
        break;
    }
}

static void add_op(Builder *b, const MwCommand *command)
{
    mw_hazard_ops_add(b->arena, &b->ops, command->queue);
    access_command(b, command);
}

static void add_graph_op(Builder *b, const MwCommandList *list, const MwCommandGraph *graph)
{
    mw_hazard_ops_add(b->arena, &b->ops, MW_QUEUE_COMPUTE);
    for (int i = graph->begin + 1; i < graph->end; i++)
        access_command(b, &list->at[i]);
    if (graph->has_collectives)
        access_ranks(b);
}

/* ---- The order on several queues ---- */

static bool *find_movable(const Builder *b)
{
    bool *may_move = MW_NEW(b->arena, bool, b->commands.count);
    for (int i = 0; i < b->commands.count; i++)
        may_move[i] = b->commands.at[i].queue != MW_QUEUE_COMPUTE &&
                      task_of(b, &b->commands.at[i])->micro_batch < 0;
    return may_move;
}

static void hoist_collectives(Builder *b, MwCommandList *list)
{
    for (int i = 0; i < b->commands.count; i++)
        add_op(b, &b->commands.at[i]);
    const int32_t *order = mw_hazards_hoist(b->arena, &b->ops, find_movable(b));
    list->at = MW_NEW(b->arena, MwCommand, list->count);
    for (int i = 0; i < list->count; i++)
        list->at[i] = b->commands.at[order[i]];
}

/* The events of the commands of a graph, which are numbered from `first` on. */
static void order_graph(Builder *b, MwCommandList *list, const MwCommandGraph *graph, int first)
{
    int count;
    b->ops = (MwHazardOps){0};
    for (int i = graph->begin; i <= graph->end; i++)
        add_op(b, &list->at[i]);
    const MwHazardSync *syncs = mw_hazards_find(b->arena, &b->ops, &count);
    for (int i = graph->begin; i <= graph->end; i++) {
        const MwHazardSync *sync = &syncs[i - graph->begin];
        for (int k = 0; k < MW_COMMAND_WAITS; k++)
            if (sync->wait[k] >= 0)
                list->at[i].wait_events[k] = first + sync->wait[k];
        if (sync->record >= 0)
            list->at[i].record_event = first + sync->record;
    }
    list->event_count = (int)mw_max(list->event_count, first + count);
}

/* Fills `items` [commands] with the commands that are no part of a graph, and with those that begin
 * one. Returns their number. */
static int add_items(Builder *b, const MwCommandList *list, int *items)
{
    int count = 0, graph = 0;
    b->ops = (MwHazardOps){0};
    for (int i = 0; i < list->count; i++) {
        items[count++] = i;
        if (list->at[i].kind != MW_COMMAND_BEGIN_GRAPH) {
            add_op(b, &list->at[i]);
            if (list->at[i].queue == MW_QUEUE_COMMUNICATION)
                access_ranks(b);
            continue;
        }
        add_graph_op(b, list, &list->graphs[graph]);
        i = list->graphs[graph++].end;
    }
    return count;
}

static void order_commands(Builder *b, MwCommandList *list)
{
    int *items = MW_NEW(b->arena, int, list->count);
    const int count = add_items(b, list, items);
    const MwHazardSync *syncs = mw_hazards_find(b->arena, &b->ops, &list->event_count);
    for (int i = 0, graph = 0; i < count; i++) {
        const bool begins = list->at[items[i]].kind == MW_COMMAND_BEGIN_GRAPH;
        for (int k = 0; k < MW_COMMAND_WAITS; k++)
            list->at[items[i]].wait_events[k] = syncs[i].wait[k];
        list->at[begins ? list->graphs[graph++].end : items[i]].record_event = syncs[i].record;
    }
    const int first = list->event_count;
    for (int i = 0; i < list->graph_count; i++)
        if (list->graphs[i].has_collectives)
            order_graph(b, list, &list->graphs[i], first);
}

static bool has_queues(const Builder *b)
{
    for (int i = 0; i < b->commands.count; i++)
        if (b->commands.at[i].queue != MW_QUEUE_COMPUTE)
            return true;
    return false;
}

MwCommandList mw_step_commands(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                               MwQueue collectives, MwQueue copies, bool has_graphs)
{
    Builder b = {.arena = mw_arena_new(),
                 .mesh = mesh,
                 .traffic = traffic,
                 .collectives = collectives,
                 .copies = copies};
    add_commands(&b);
    const bool is_ordered = has_queues(&b);
    MwCommandList list = {.at = b.commands.at, .count = b.commands.count};
    if (is_ordered)
        hoist_collectives(&b, &list);
    if (has_graphs)
        mw_graphs_find(b.arena, mesh, traffic, collectives, &list);
    if (is_ordered)
        order_commands(&b, &list);
    list.at = mw_arena_dup(arena, list.at, sizeof *list.at * (size_t)list.count);
    list.graphs = mw_arena_dup(arena, list.graphs, sizeof *list.graphs * (size_t)list.graph_count);
    mw_arena_free(&b.arena);
    return list;
}
