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
