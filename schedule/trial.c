/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schedule/trial.h"

#include <math.h>
#include <string.h>

MwPipelineSchedule *mw_schedule_new_like(MwArena *arena, const MwPipelineSchedule *schedule)
{
    MwPipelineSchedule *empty = mw_arena_dup(arena, schedule, sizeof *schedule);
    empty->meshes = MW_NEW(arena, MwMeshSchedule, schedule->mesh_count);
    for (int i = 0; i < schedule->mesh_count; i++)
        empty->meshes[i] =
            (MwMeshSchedule){.tasks = MW_NEW(arena, MwTask, mw_pipeline_mesh_tasks(schedule, i)),
                             .slots = MW_NEW(arena, int, mw_pipeline_mesh_chunks(schedule, i))};
    return empty;
}

/* ---- Whether an order runs ---- */

typedef struct {
    const MwPipelineSchedule *schedule;
    int sends_ahead;
    int *next;       /* [meshes] the task that a mesh is at */
    bool *has_begun; /* [meshes] that task has what it needs */
    /* [stages] forwards and backwards that have begun, and that have ended */
    int *begun[2], *ended[2];
} Walk;

static bool is_forward(MwTask task)
{
    return task.kind == MW_TASK_FORWARD;
}

/* Whether what the stage before has for a task of a stage is there. */
static bool is_received(const Walk *walk, MwTask task, int stage)
{
    const int from = is_forward(task) ? stage - 1 : stage + 1;
    return task.kind == MW_TASK_WEIGHT || from < 0 ||
           from == mw_pipeline_stage_count(walk->schedule) ||
           walk->ended[is_forward(task)][from] > task.micro_batch;
}

/* Whether there is room for what a task of a stage sends. */
static bool may_send(const Walk *walk, MwTask task, int stage)
{
    const int to = is_forward(task) ? stage + 1 : stage - 1;
    return task.kind == MW_TASK_WEIGHT || to < 0 || to == mw_pipeline_stage_count(walk->schedule) ||
           walk->begun[is_forward(task)][to] + walk->sends_ahead > task.micro_batch;
}

/* Runs tasks of a mesh as far as they can; true if any has begun or ended. */
static bool run_mesh(Walk *walk, int mesh)
{
    const MwMeshSchedule *on = &walk->schedule->meshes[mesh];
    bool moved = false;
    for (; walk->next[mesh] < on->task_count; walk->next[mesh]++) {
        const MwTask task = on->tasks[walk->next[mesh]];
        const int stage = mw_pipeline_stage(walk->schedule, mesh, task.chunk);
        const bool counts = task.kind != MW_TASK_WEIGHT;
        if (!walk->has_begun[mesh]) {
            if (!is_received(walk, task, stage))
                return moved;
            walk->has_begun[mesh] = moved = true;
            walk->begun[is_forward(task)][stage] += counts;
        }
        if (!may_send(walk, task, stage))
            return moved;
        walk->has_begun[mesh] = false;
        walk->ended[is_forward(task)][stage] += counts;
    }
    return moved;
}

bool mw_schedule_runs(MwArena *arena, const MwPipelineSchedule *schedule, int sends_ahead)
{
    const int stages = mw_pipeline_stage_count(schedule);
    Walk walk = {.schedule = schedule,
                 .sends_ahead = sends_ahead,
                 .next = MW_NEW(arena, int, schedule->mesh_count),
                 .has_begun = MW_NEW(arena, bool, schedule->mesh_count)};
    for (int k = 0; k < 2; k++) {
        walk.begun[k] = MW_NEW(arena, int, stages);
        walk.ended[k] = MW_NEW(arena, int, stages);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < schedule->mesh_count; i++)
            moved |= run_mesh(&walk, i);
    }
    for (int i = 0; i < schedule->mesh_count; i++)
        if (walk.next[i] < schedule->meshes[i].task_count)
            return false;
    return true;
}

static bool runs_with(const MwPipelineSchedule *schedule, int sends_ahead)
{
    MwArena *scratch = mw_arena_new();
    const bool runs = mw_schedule_runs(scratch, schedule, sends_ahead);
    mw_arena_free(&scratch);
    return runs;
}

int mw_schedule_sends_ahead(const MwPipelineSchedule *schedule)
{
    int ahead = MW_SENDS_AHEAD;
    while (!runs_with(schedule, ahead))
        ahead++;
    return ahead;
}

/* ---- The best order ---- */

void mw_schedule_take_if_better(MwArena *arena, MwPipelineSchedule *schedule,
                                const MwPipelineSchedule *other, const MwStageTimes *times,
                                MwTimeline *least)
{
    const MwTimeline *timeline = mw_timeline_new(arena, other, times);
    if (timeline->cost > least->cost ||
        (timeline->cost == least->cost && timeline->total >= least->total))
        return;
    *least = *timeline;
    for (int i = 0; i < schedule->mesh_count; i++) {
        MwMeshSchedule *mesh = &schedule->meshes[i];
        mesh->task_count = other->meshes[i].task_count;
        memcpy(mesh->tasks, other->meshes[i].tasks, sizeof *mesh->tasks * (size_t)mesh->task_count);
    }
}

MwTimeline mw_schedule_no_trial(void)
{
    return (MwTimeline){.cost = INFINITY, .total = INFINITY};
}
