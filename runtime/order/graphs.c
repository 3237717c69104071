/* SPDX-License-Identifier: MIT */
#include "runtime/order/graphs.h"

#include "base/vec.h"

typedef struct {
    MwArena *arena;
    const MwPlanMesh *mesh;
    const MwTraffic *traffic;
    MwQueue collectives;
    MW_VEC(MwCommand) commands; /* with those that begin and end graphs */
    MW_VEC(MwCommandGraph) graphs;
    MW_VEC(int) captured; /* of the graphs that are captured as one, the first */
    int captured_commands;
} Finder;

/* ---- Commands ---- */

static const MwPlanTask *task_of(const Finder *f, const MwCommand *command)
{
    return &f->mesh->tasks[command->task];
}

/* The instructions of a command, of which the first is `*instrs`. */
static int find_instrs(const Finder *f, const MwCommand *command, const MwPlanInstr **instrs)
{
    const MwPlanProgram *program = &f->mesh->programs[task_of(f, command)->program];
    *instrs = &program->instrs[command->instr];
    return command->kind == MW_COMMAND_LOOP ? mw_plan_loop_at(program, command->instr)->count : 1;
}

static bool has_instrs(const MwCommand *command)
{
    return command->kind == MW_COMMAND_INSTR || command->kind == MW_COMMAND_LOOP;
}

static bool has_collective(const Finder *f, const MwCommand *command)
{
    const MwPlanInstr *instrs;
    const int count = find_instrs(f, command, &instrs);
    for (int i = 0; i < count; i++)
        if (instrs[i].kind == MW_INSTR_COLLECTIVE)
            return true;
    return false;
}

/* True if the command has a collective that it does not queue on the transport's queue. */
static bool waits_for_collective(const Finder *f, const MwCommand *command)
{
    return has_instrs(command) && command->queue != f->collectives && has_collective(f, command);
}

/* A message is traffic, and its instruction is nothing. */
static bool is_message(const Finder *f, const MwCommand *command)
{
    const MwPlanInstr *instrs;
    find_instrs(f, command, &instrs);
    return instrs->kind == MW_INSTR_SEND || instrs->kind == MW_INSTR_RECEIVE;
}

/* ---- The step as a graph ---- */

static bool is_one_graph(const Finder *f, const MwCommandList *list)
{
    bool is_one = f->traffic->endpoint_count == 0;
    for (int i = 0; i < f->mesh->weight_count; i++)
        is_one &= !f->mesh->weights[i].reset_each_step || f->mesh->weights[i].init == MW_INIT_ZEROS;
    for (int i = 0; i < list->count && is_one; i++)
        is_one = !waits_for_collective(f, &list->at[i]);
    return is_one;
}

/* ---- What graphs share ---- */

/* Whether an instruction does the same in both tasks, which have one program. */
static bool is_same_instr(const Finder *f, const MwPlanInstr *instr, const MwPlanTask *a,
                          const MwPlanTask *b)
{
    for (int i = 0; i < instr->operand_count; i++) {
        const MwPlanBuffer *buffer = &f->mesh->buffers[instr->operands[i].buffer];
        if (mw_plan_slot_offset(buffer, a->micro_batch) !=
            mw_plan_slot_offset(buffer, b->micro_batch))
            return false;
    }
    for (int i = 0; i < instr->arg_count; i++)
        if (instr->args[i].kind == MW_ARG_POSITION && instr->args[i].micro_stride != 0 &&
            a->micro_batch != b->micro_batch)
            return false;
    return true;
}

static bool is_same_command(const Finder *f, const MwCommand *a, const MwCommand *b)
{
    const MwPlanInstr *instrs;
    const int count = find_instrs(f, a, &instrs);
    bool is_same = a->kind == b->kind && a->instr == b->instr && a->run == b->run;
    for (int i = 0; i < count && is_same; i++)
        is_same = is_same_instr(f, &instrs[i], task_of(f, a), task_of(f, b));
    return is_same;
}

static bool is_same_graph(const Finder *f, const MwCommandGraph *a, const MwCommandGraph *b)
{
    const MwCommand *one = &f->commands.at[a->begin + 1], *other = &f->commands.at[b->begin + 1];
    const int count = a->end - a->begin - 1;
    if (b->end - b->begin - 1 != count || task_of(f, one)->program != task_of(f, other)->program)
        return false;
    for (int i = 0; i < count; i++)
        if (!is_same_command(f, &one[i], &other[i]))
            return false;
    return true;
}

/* The index of what is captured of the graph. */
static int find_captured(Finder *f, const MwCommandGraph *graph)
{
    for (int i = 0; i < f->captured.count; i++)
        if (is_same_graph(f, &f->graphs.at[f->captured.at[i]], graph))
            return i;
    f->captured_commands += graph->end - graph->begin - 1;
    mw_vec_push(f->arena, &f->captured, f->graphs.count);
    return f->captured.count - 1;
}

/* ---- Parts of a step as graphs ---- */

/* The end of the instructions of one task that begin with a command on the compute queue: behind
 * the last there. Of any other command, behind that. `*works`: how many queue work there. */
static int find_end(const Finder *f, const MwCommandList *list, int begin, int *works)
{
    int end = begin + 1;
    *works = 0;
    for (int i = begin; i < list->count && list->at[begin].queue == MW_QUEUE_COMPUTE; i++) {
        const MwCommand *command = &list->at[i];
        if (command->task != list->at[begin].task || !has_instrs(command) ||
            waits_for_collective(f, command))
            break;
        if (command->queue != MW_QUEUE_COMPUTE)
            continue;
        *works += !is_message(f, command);
        end = i + 1;
    }
    return end;
}

static void add_mark(Finder *f, MwCommandKind kind)
{
    mw_vec_push(f->arena, &f->commands,
                ((MwCommand){.kind = kind,
                             .task = -1,
                             .instr = -1,
                             .run = -1,
                             .traffic_op = -1,
                             .wait_events = {-1, -1},
                             .record_event = -1}));
}

static void add_graph(Finder *f, const MwCommandList *list, int begin, int end)
{
    MwCommandGraph graph = {.begin = f->commands.count};
    add_mark(f, MW_COMMAND_BEGIN_GRAPH);
    for (int i = begin; i < end; i++) {
        const MwCommand *command = &list->at[i];
        graph.has_collectives |=
            command->queue == f->collectives && has_instrs(command) && has_collective(f, command);
        mw_vec_push(f->arena, &f->commands, *command);
    }
    graph.end = f->commands.count;
    add_mark(f, MW_COMMAND_END_GRAPH);
    graph.captured = find_captured(f, &graph);
    mw_vec_push(f->arena, &f->graphs, graph);
}

/* A graph of one call would be one call, too. */
static void find_graphs(Finder *f, const MwCommandList *list)
{
    for (int i = 0, works; i < list->count;) {
        const int end = find_end(f, list, i, &works);
        const bool has_room = f->captured_commands + end - i <= MW_GRAPH_COMMANDS;
        if (works >= 2 && has_room) {
            add_graph(f, list, i, end);
            i = end;
        }
        for (; i < end; i++)
            mw_vec_push(f->arena, &f->commands, list->at[i]);
    }
}

void mw_graphs_find(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                    MwQueue collectives, MwCommandList *list)
{
    Finder f = {.arena = arena, .mesh = mesh, .traffic = traffic, .collectives = collectives};
    list->is_one_graph = is_one_graph(&f, list);
    if (list->is_one_graph)
        add_graph(&f, list, 0, list->count);
    else
        find_graphs(&f, list);
    list->at = f.commands.at;
    list->count = f.commands.count;
    list->graphs = f.graphs.at;
    list->graph_count = f.graphs.count;
    list->captured_count = f.captured.count;
}
