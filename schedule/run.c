/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schedule/run.h"

#include "schedule/order.h"

#include <math.h>

static double *ready_of(const MwScheduleRun *run, MwTaskKind kind, int stage)
{
    return run->ready[kind] + (int64_t)stage * run->schedule->micro_batches;
}

MwTask mw_run_next(const MwScheduleRun *run, int mesh, MwTaskKind kind, int chunk)
{
    return (MwTask){kind, run->meshes[mesh].begun[kind][chunk], chunk};
}

double mw_run_ready_at(const MwScheduleRun *run, int mesh, MwTask task)
{
    const int stage = mw_pipeline_stage(run->schedule, mesh, task.chunk);
    return task.micro_batch < run->schedule->micro_batches
               ? ready_of(run, task.kind, stage)[task.micro_batch]
               : INFINITY;
}

bool mw_run_is_ready(const MwScheduleRun *run, int mesh, MwTask task)
{
    return mw_run_ready_at(run, mesh, task) <= run->now;
}

int mw_run_oldest_weight(const MwScheduleRun *run, int mesh)
{
    int oldest = -1;
    double earliest = INFINITY;
    for (int c = 0; c < mw_pipeline_mesh_chunks(run->schedule, mesh); c++) {
        const double at = mw_run_ready_at(run, mesh, mw_run_next(run, mesh, MW_TASK_WEIGHT, c));
        if (at > run->now || at >= earliest)
            continue;
        earliest = at;
        oldest = c;
    }
    return oldest;
}

/* ---- The beginning of a task ---- */

/* Tells the stage that waits for the result of a task when it arrives. */
static void send(const MwScheduleRun *run, int stage, MwTask task, double end)
{
    const bool is_forward = task.kind == MW_TASK_FORWARD;
    const int to = is_forward ? stage + 1 : stage - 1;
    if (to < 0 || to == mw_pipeline_stage_count(run->schedule))
        return;
    double *arrivals = ready_of(run, task.kind, to);
    const double before = task.micro_batch > 0 ? arrivals[task.micro_batch - 1] : 0;
    const MwStageTimes *times = &run->times[stage];
    arrivals[task.micro_batch] =
        fmax(end, before) + (is_forward ? times->to_next : times->to_previous);
    MwMeshRun *mesh =
        &run->meshes[mw_pipeline_mesh_of(run->schedule->kind, run->schedule->mesh_count, to)];
    if (mesh->free_at <= run->now)
        mesh->wake = fmin(mesh->wake, arrivals[task.micro_batch]);
}

void mw_run_begin(MwScheduleRun *run, int mesh, MwTask task)
{
    MwMeshRun *on = &run->meshes[mesh];
    const int stage = mw_pipeline_stage(run->schedule, mesh, task.chunk);
    const int last = mw_pipeline_stage_count(run->schedule) - 1;
    mw_mesh_schedule_add(&run->schedule->meshes[mesh], task.kind, task.micro_batch, task.chunk);
    on->begun[task.kind][task.chunk]++;
    if (on->begun[MW_TASK_FORWARD][0] > 1 || task.kind != MW_TASK_FORWARD)
        on->waited += run->now - on->free_at;
    on->free_at = run->now + run->times[stage].task[task.kind];
    if (task.kind == MW_TASK_BACKWARD_INPUT)
        ready_of(run, MW_TASK_WEIGHT, stage)[task.micro_batch] = on->free_at;
    if (task.kind == MW_TASK_FORWARD && stage == last)
        ready_of(run, MW_TASK_BACKWARD_INPUT, stage)[task.micro_batch] = on->free_at;
    if (task.kind == MW_TASK_WEIGHT)
        return;
    on->last = task.kind;
    send(run, stage, task, on->free_at);
}

/* ---- All meshes ---- */

/* When a mesh becomes free or, if it is free, receives something; INFINITY if that is not known. */
static double wake_of(const MwScheduleRun *run, int mesh)
{
    static const MwTaskKind kinds[] = {MW_TASK_FORWARD, MW_TASK_BACKWARD_INPUT};
    double wake = INFINITY;
    if (run->meshes[mesh].free_at > run->now)
        return run->meshes[mesh].free_at;
    for (int c = 0; c < mw_pipeline_mesh_chunks(run->schedule, mesh); c++)
        for (int k = 0; k < MW_COUNT(kinds); k++) {
            const double at = mw_run_ready_at(run, mesh, mw_run_next(run, mesh, kinds[k], c));
            if (at > run->now)
                wake = fmin(wake, at);
        }
    return wake;
}

static double next_time(const MwScheduleRun *run)
{
    double next = INFINITY;
    for (int i = 0; i < run->schedule->mesh_count; i++)
        next = fmin(next, run->meshes[i].wake);
    return next;
}

static MwScheduleRun run_new(MwArena *arena, MwPipelineSchedule *schedule,
                             const MwStageTimes *times)
{
    const int64_t tasks = (int64_t)mw_pipeline_stage_count(schedule) * schedule->micro_batches;
    MwScheduleRun run = {schedule, times, MW_NEW(arena, MwMeshRun, schedule->mesh_count)};
    for (int kind = 0; kind < MW_TASK_KIND_COUNT; kind++) {
        run.ready[kind] = MW_NEW(arena, double, tasks);
        for (int64_t i = 0; i < tasks; i++)
            run.ready[kind][i] = INFINITY;
    }
    for (int m = 0; m < schedule->micro_batches; m++)
        run.ready[MW_TASK_FORWARD][m] = 0;
    return run;
}

void mw_run_all(MwArena *arena, MwPipelineSchedule *schedule, const MwStageTimes *times,
                void (*advance)(void *context, MwScheduleRun *run, int mesh), void *context)
{
    MwScheduleRun run = run_new(arena, schedule, times);
    for (; isfinite(run.now); run.now = next_time(&run))
        for (int i = 0; i < schedule->mesh_count; i++) {
            if (run.meshes[i].wake > run.now)
                continue;
            const MwMeshSchedule *order = &schedule->meshes[i];
            for (int count = -1; run.meshes[i].free_at <= run.now && order->task_count > count;) {
                count = order->task_count;
                advance(context, &run, i);
            }
            run.meshes[i].wake = wake_of(&run, i);
        }
}
