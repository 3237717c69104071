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

/* When all commands are done, with each queue in order and its waits. */
static double end_s(MwArena *arena, const MwPlanMesh *mesh, const MwCommandList *list)
{
    double *events = MW_NEW(arena, double, list->event_count), queues[MW_QUEUE_COUNT] = {0};
    for (int i = 0; i < list->count; i++) {
        const MwCommand *command = &list->at[i];
        double *queue = &queues[command->queue];
        if (command->wait_event >= 0)
            *queue = fmax(*queue, events[command->wait_event]);
        *queue += command_s(mesh, command);
        if (command->record_event >= 0)
            events[command->record_event] = *queue;
    }
    return fmax(queues[MW_QUEUE_COMPUTE], queues[MW_QUEUE_COMMUNICATION]);
}

/* Seconds of tasks that follow each other and wait for no message. */
static double tasks_s(const MwBackendInfo *backend, const MwPlanMesh *mesh, MwPlanTask *tasks,
                      int count)
{
    MwArena *arena = mw_arena_new();
    MwPlanMesh part = *mesh;
    part.tasks = tasks;
    part.task_count = count;
    const MwTraffic none = {.programs = MW_NEW(arena, MwTrafficProgram, mesh->program_count)};
    const MwQueue collectives = backend->overlaps ? MW_QUEUE_COMMUNICATION : MW_QUEUE_COMPUTE;
    const MwCommandList list = mw_step_commands(arena, &part, &none, collectives, false);
    const double time_s = end_s(arena, &part, &list);
    mw_arena_free(&arena);
    return time_s;
}

double mw_predict_program_s(const MwBackendInfo *backend, const MwPlanMesh *mesh, int program)
{
    MwPlanTask task = {.program = program};
    return tasks_s(backend, mesh, &task, 1);
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

double mw_predict_update_s(const MwBackendInfo *backend, const MwPlanMesh *mesh)
{
    const int last = mesh->task_count - 1;
    if (mesh->task_count == 0 ||
        mw_plan_program_phase(&mesh->programs[mesh->tasks[last].program]) != MW_PHASE_UPDATE)
        return 0;
    if (!backend->overlaps)
        return mw_predict_program_s(backend, mesh, mesh->tasks[last].program);
    const int tail = find_tail(mesh, last);
    return tasks_s(backend, mesh, mesh->tasks + tail, last + 1 - tail) -
           tasks_s(backend, mesh, mesh->tasks + tail, last - tail);
}
