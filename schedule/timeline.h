/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When each task of a pipeline schedule runs, given the times of tasks and transfers.
 *
 * A task begins as soon as the previous task of its mesh has ended and its inputs have arrived:
 * the activations of the previous stage, or the gradients of the next stage. A transfer takes no
 * time of the meshes, and between two chunks of one mesh there is none. Those from one stage to
 * another go one after another, in the order of micro-batches: where they take longer than the
 * tasks, the meshes wait for them. All times have one unit, any. */
#ifndef MW_SCHEDULE_TIMELINE_H
#define MW_SCHEDULE_TIMELINE_H

#include "schedule/schedule.h"

/* What one stage keeps, in any unit that all stages share; for the order of timed schedules. */
typedef struct {
    double kept;   /* all through the step */
    double saved;  /* of each micro-batch, from its forward to its gradients of inputs */
    double late;   /* of each micro-batch, from its forward to its gradients of weights */
    double weight; /* of each micro-batch, from its gradients of inputs to those of weights */
} MwStageMemory;

/* The times of one stage for one micro-batch, and its memory. */
typedef struct {
    double task[MW_TASK_KIND_COUNT];
    /* from the end of a forward to the arrival of its activations at the next stage */
    double to_next;
    /* from the end of a backward to the arrival of its gradients at the previous stage */
    double to_previous;
    MwStageMemory memory;
} MwStageTimes;

typedef struct {
    double start, end;
} MwTaskTime;

typedef struct {
    MwTaskTime *tasks; /* [task_count], in the order of the schedule */
    double busy;       /* sum of the times of its tasks */
    double span;       /* from the start of its first task to the end of its last */
} MwMeshTimeline;

typedef struct {
    MwMeshTimeline *meshes; /* [mesh_count] */
    double total;           /* end of the last task; the first starts at 0 */
    double cost;            /* the longest span of a mesh */
    double ideal;           /* the largest `busy`; m (F + B + W) if all meshes are alike */
    double bubble_rate;     /* (cost - ideal) / cost; 0 if nothing takes time */
} MwTimeline;

/* The timeline, in `arena`. `times` has an entry for each stage (mw_pipeline_stage). The
 * schedule is one that mw_pipeline_schedule_check accepts. */
MwTimeline *mw_timeline_new(MwArena *arena, const MwPipelineSchedule *schedule,
                            const MwStageTimes *times);

/* The same where all that a mesh sends, of whichever stage and in either direction, goes one after
 * another: over one link. */
MwTimeline *mw_timeline_new_shared(MwArena *arena, const MwPipelineSchedule *schedule,
                                   const MwStageTimes *times);

/* The times if every task takes 1, or 2 if it does the work of two chunks, and transfers take 0;
 * for each stage. */
MwStageTimes *mw_stage_times_new_clocks(MwArena *arena, MwPipelineKind kind, int meshes,
                                        int chunks);

/* The timeline with these times: the start of a task is its clock, `total` the number of clocks. */
MwTimeline *mw_timeline_new_clocks(MwArena *arena, const MwPipelineSchedule *schedule);

#endif
