/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When each task of a pipeline schedule runs, given how long tasks and transfers take.
 *
 * A task begins as soon as the one before it on its mesh has ended and what it needs has arrived:
 * the activations of the stage before it, the gradients of the stage after it. A transfer takes no
 * time of the meshes, and between two chunks of one mesh there is none. Times are in any one unit. */
#ifndef MW_SCHEDULE_TIMELINE_H
#define MW_SCHEDULE_TIMELINE_H

#include "schedule/schedule.h"

/* Of one stage and one micro-batch. */
typedef struct {
    double task[MW_TASK_KIND_COUNT];
    double to_next;     /* from the end of a forward to its activations at the next stage */
    double to_previous; /* from the end of a backward to its gradients at the stage before */
} MwStageTimes;

typedef struct {
    double start, end;
} MwTaskTime;

typedef struct {
    MwTaskTime *tasks; /* [task_count], as in the schedule */
    double busy;       /* sum of the tasks' times */
    double span;       /* from the start of the first task to the end of the last */
} MwMeshTimeline;

typedef struct {
    MwMeshTimeline *meshes; /* [mesh_count] */
    double total;           /* the end of the last task; the first starts at 0 */
    double cost;            /* the longest span of a mesh */
    double ideal;           /* the busiest mesh's time; m (F + B + W) where all meshes are alike */
    double bubble_rate;     /* (cost - ideal) / cost; 0 where nothing takes time */
} MwTimeline;

/* `times` has an entry for each stage (mw_pipeline_stage). The schedule is one that
 * mw_pipeline_schedule_check passes. */
MwTimeline *mw_timeline_new(MwArena *arena, const MwPipelineSchedule *schedule,
                            const MwStageTimes *times);

/* The same with tasks that take 1 and transfers that take nothing: the start of a task is its clock,
 * `total` the number of clocks. */
MwTimeline *mw_timeline_new_clocks(MwArena *arena, const MwPipelineSchedule *schedule);

#endif
