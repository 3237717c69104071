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

/* When all commands are done, with each queue in order and its waits. */
static double end_s(MwArena *arena, const Tasks *tasks, const MwPlanMesh *mesh,
                    const MwCommandList *list)
{
    double *events = MW_NEW(arena, double, list->event_count), queues[MW_QUEUE_COUNT] = {0};
    for (int i = 0; i < list->count; i++) {
        const MwCommand *command = &list->at[i];
        double *queue = &queues[command->queue];
        if (command->wait_event >= 0)
            *queue = fmax(*queue, events[command->wait_event]);
        note(tasks, command, *queue);
        *queue += command_s(mesh, command);
        if (command->record_event >= 0)
            events[command->record_event] = *queue;
    }
    return fmax(queues[MW_QUEUE_COMPUTE], queues[MW_QUEUE_COMMUNICATION]);
}

static double tasks_s(const Tasks *tasks)
{
    MwArena *arena = mw_arena_new();
    MwPlanMesh part = *tasks->mesh;
    part.tasks = tasks->tasks;
    part.task_count = tasks->count;
    const MwQueue beside = tasks->overlaps ? MW_QUEUE_COMMUNICATION : MW_QUEUE_COMPUTE;
    const MwCommandList list =
        mw_step_commands(arena, &part, tasks->traffic, beside, beside, false);
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
