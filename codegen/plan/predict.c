/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/predict.h"

#include "codegen/plan/timeline.h"
#include "runtime/order/commands.h"

#include <math.h>

/* Seconds of what a command does on its queue. */
static double command_s(const MwPlanMesh *mesh, const MwCommand *command)
{
    double time_s = 0;
    if (command->kind != MW_COMMAND_INSTR && command->kind != MW_COMMAND_LOOP)
        return 0;
    const MwPlanProgram *program = &mesh->programs[mesh->tasks[command->task].program];
    if (command->kind == MW_COMMAND_INSTR)
        return program->instrs[command->instr].time_s;
    const MwPlanLoop *loop = mw_plan_loop_at(program, command->instr);
    for (int i = loop->first; i < loop->first + loop->count; i++)
        time_s += loop->runs * program->instrs[i].time_s;
    return time_s;
}

/* Tasks that follow each other and wait for no message. */
typedef struct {
    bool overlaps;
    const MwPlanMesh *mesh;
    const MwTraffic *traffic;
    MwPlanTask *tasks;
    int count;
    const MwPredictedTimes *times; /* NULL, or: of the last task, from the beginning of the first */
} Tasks;

static void note_ops(const Tasks *tasks, const MwCommand *command, double time_s)
{
    const MwTrafficProgram *traffic =
        &tasks->traffic->programs[tasks->tasks[tasks->count - 1].program];
    for (int i = command->kind == MW_COMMAND_BEGIN_TASK ? 0 : command->traffic_op;
         i < traffic->op_count && traffic->ops[i].instr == command->instr; i++)
        tasks->times->op_s[i] = time_s;
}

static void note_loop(const Tasks *tasks, const MwCommand *command, double time_s)
{
    const MwPlanProgram *program = &tasks->mesh->programs[tasks->tasks[tasks->count - 1].program];
    const MwPlanLoop *loop = mw_plan_loop_at(program, command->instr);
    for (int i = loop->first; i < loop->first + loop->count; i++) {
        tasks->times->instr_s[i] = time_s;
        time_s += program->instrs[i].time_s;
    }
}

/* Notes when a command of the last task begins. */
static void note(const Tasks *tasks, const MwCommand *command, double time_s)
{
    if (!tasks->times || command->task != tasks->count - 1)
        return;
    if (command->kind == MW_COMMAND_BEGIN_TASK || command->kind == MW_COMMAND_TRAFFIC)
        note_ops(tasks, command, time_s);
    else if (command->kind == MW_COMMAND_LOOP)
        note_loop(tasks, command, time_s);
    else if (command->kind == MW_COMMAND_INSTR && command->run == 0)
        tasks->times->instr_s[command->instr] = time_s;
}

/* ---- Queues ---- */

typedef struct {
    int command; /* that is done or will be next */
    bool runs;
    double end_s; /* of what runs, at the rate that it has */
} Queue;

typedef struct {
    const Tasks *tasks;
    const MwPlanMesh *mesh;
    const MwCommandList *list;
    /* [list->count][MW_COMMAND_WAITS] commands after whose end each may begin; -1: none */
    int (*awaited)[MW_COMMAND_WAITS];
    Queue queues[MW_QUEUE_COUNT];
    double rate; /* of kernels, of that which they have alone */
    double now_s;
} Run;

static bool is_collective(const MwPlanMesh *mesh, const MwCommand *command)
{
    const MwPlanProgram *program = &mesh->programs[mesh->tasks[command->task].program];
    return command->kind == MW_COMMAND_INSTR &&
           program->instrs[command->instr].kind == MW_INSTR_COLLECTIVE;
}

/* The commands that record what each waits for: an event is recorded again after its last wait. */
static void find_awaited(MwArena *arena, const MwCommandList *list,
                         int (*awaited)[MW_COMMAND_WAITS])
{
    int *recorded = MW_NEW(arena, int, list->event_count);
    for (int i = 0; i < list->count; i++) {
        const MwCommand *command = &list->at[i];
        for (int k = 0; k < MW_COMMAND_WAITS; k++)
            awaited[i][k] = command->wait_events[k] >= 0 ? recorded[command->wait_events[k]] : -1;
        if (command->record_event >= 0)
            recorded[command->record_event] = i;
    }
}

static bool has_ended(const Run *run, int command)
{
    return run->queues[run->list->at[command].queue].command > command;
}

/* Whether all has ended that a command waits for. */
static bool may_begin(const Run *run, int command)
{
    for (int k = 0; k < MW_COMMAND_WAITS; k++)
        if (run->awaited[command][k] >= 0 && !has_ended(run, run->awaited[command][k]))
            return false;
    return true;
}

/* What runs on the compute queue has another rate from now on. */
static void set_rate(Run *run, double rate)
{
    Queue *compute = &run->queues[MW_QUEUE_COMPUTE];
    if (compute->runs && rate != run->rate)
        compute->end_s = run->now_s + (compute->end_s - run->now_s) * run->rate / rate;
    run->rate = rate;
}

/* Begins the next command of a queue that runs none, if it has one and need not wait. */
static void begin_next(Run *run, MwQueue index)
{
    Queue *queue = &run->queues[index];
    if (queue->runs)
        return;
    while (queue->command < run->list->count && run->list->at[queue->command].queue != index)
        queue->command++;
    if (queue->command == run->list->count)
        return;
    const MwCommand *command = &run->list->at[queue->command];
    if (!may_begin(run, queue->command))
        return;
    note(run->tasks, command, run->now_s);
    queue->runs = true;
    queue->end_s =
        run->now_s + command_s(run->mesh, command) / (index == MW_QUEUE_COMPUTE ? run->rate : 1);
    if (index == MW_QUEUE_COMMUNICATION && is_collective(run->mesh, command))
        set_rate(run, 1 - run->mesh->collective_share);
}

/* Ends what ends first; false if nothing runs. */
static bool end_first(Run *run)
{
    int first = -1;
    for (int q = 0; q < MW_QUEUE_COUNT; q++)
        if (run->queues[q].runs && (first < 0 || run->queues[q].end_s < run->queues[first].end_s))
            first = q;
    if (first < 0)
        return false;
    Queue *queue = &run->queues[first];
    run->now_s = queue->end_s;
    queue->runs = false;
    queue->command++;
    if (first == MW_QUEUE_COMMUNICATION)
        set_rate(run, 1);
    return true;
}

/* When all commands are done, with each queue in order and its waits. */
static double end_s(MwArena *arena, const Tasks *tasks, const MwPlanMesh *mesh,
                    const MwCommandList *list)
{
    Run run = {.tasks = tasks,
               .mesh = mesh,
               .list = list,
               .awaited = mw_arena_alloc(arena, sizeof *run.awaited * (size_t)list->count),
               .rate = 1};
    find_awaited(arena, list, run.awaited);
    do
        for (int q = 0; q < MW_QUEUE_COUNT; q++)
            begin_next(&run, (MwQueue)q);
    while (end_first(&run));
    return run.now_s;
}

static double tasks_s(const Tasks *tasks)
{
    MwArena *arena = mw_arena_new();
    MwPlanMesh part = *tasks->mesh;
    part.tasks = tasks->tasks;
    part.task_count = tasks->count;
    const MwCommandList list = mw_step_commands(
        arena, &part, tasks->traffic, tasks->overlaps ? MW_QUEUE_COMMUNICATION : MW_QUEUE_COMPUTE,
        tasks->overlaps ? MW_QUEUE_COPIES : MW_QUEUE_COMPUTE, false);
    const double time_s = end_s(arena, tasks, &part, &list);
    mw_arena_free(&arena);
    return time_s;
}

static double program_s(bool overlaps, const MwPlanMesh *mesh, const MwTraffic *traffic,
                        int program, const MwPredictedTimes *times)
{
    MwPlanTask task = {.program = program};
    return tasks_s(&(Tasks){overlaps, mesh, traffic, &task, 1, times});
}

/* That of a mesh without messages, in `arena`. */
static MwTraffic no_traffic(MwArena *arena, const MwPlanMesh *mesh)
{
    return (MwTraffic){.programs = MW_NEW(arena, MwTrafficProgram, mesh->program_count)};
}

double mw_predict_program_s(bool overlaps, const MwPlanMesh *mesh, int program)
{
    MwArena *arena = mw_arena_new();
    const MwTraffic none = no_traffic(arena, mesh);
    const double time_s = program_s(overlaps, mesh, &none, program, NULL);
    mw_arena_free(&arena);
    return time_s;
}

/* The first task, but for forward ones, behind which its program does not run any more. */
static int find_tail(const MwPlanMesh *mesh, int end)
{
    int first = end;
    for (int p = 0; p < mesh->program_count; p++) {
        int last = -1;
        if (mw_plan_program_phase(&mesh->programs[p]) == MW_PHASE_FORWARD)
            continue;
        for (int t = 0; t < end; t++)
            if (mesh->tasks[t].program == p)
                last = t;
        first = last >= 0 ? (int)mw_min(first, last) : first;
    }
    return first;
}

static bool is_update(const MwPlanMesh *mesh, int program)
{
    return mw_plan_program_phase(&mesh->programs[program]) == MW_PHASE_UPDATE;
}

/* The seconds of the update, the program of the last task, that the tasks before it do not hide. */
static double update_s(bool overlaps, const MwPlanMesh *mesh, const MwTraffic *traffic,
                       const MwPredictedTimes *times)
{
    const int last = mesh->task_count - 1, program = mesh->tasks[last].program;
    if (!overlaps)
        return program_s(overlaps, mesh, traffic, program, times);
    const int tail = find_tail(mesh, last);
    Tasks tasks = {overlaps, mesh, traffic, mesh->tasks + tail, last - tail, NULL};
    const double before_s = tasks_s(&tasks);
    tasks.count++;
    tasks.times = times;
    const double all_s = tasks_s(&tasks);
    for (int i = 0; times && i < traffic->programs[program].op_count; i++)
        times->op_s[i] = fmax(times->op_s[i] - before_s, 0);
    for (int i = 0; times && i < mesh->programs[program].instr_count; i++)
        times->instr_s[i] = fmax(times->instr_s[i] - before_s, 0);
    return all_s - before_s;
}

double mw_predict_update_s(bool overlaps, const MwPlanMesh *mesh)
{
    if (mesh->task_count == 0 || !is_update(mesh, mesh->tasks[mesh->task_count - 1].program))
        return 0;
    MwArena *arena = mw_arena_new();
    const MwTraffic none = no_traffic(arena, mesh);
    const double time_s = update_s(overlaps, mesh, &none, NULL);
    mw_arena_free(&arena);
    return time_s;
}

double mw_predict_task_s(bool overlaps, const MwPlanMesh *mesh, const MwTraffic *traffic,
                         int program, const MwPredictedTimes *times)
{
    const int last = mesh->task_count - 1;
    if (is_update(mesh, program) && last >= 0 && mesh->tasks[last].program == program)
        return update_s(overlaps, mesh, traffic, times);
    return program_s(overlaps, mesh, traffic, program, times);
}

double mw_predict_collective_s(const MwCostModel *model, const MwPlanInstr *instr)
{
    const MwCollectiveInfo *info = mw_collective_info((MwCollective)instr->target);
    const int ways = info->joins && !info->splits ? model->mesh.size[instr->axis] : 1;
    return mw_cost_collective_s(model, (MwCollective)instr->target, instr->axis,
                                (double)instr->count * ways * mw_type_bytes(instr->type));
}
