/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the order of tasks of a schedule that splits the backward, by a simulation of it: each mesh
 * begins, as soon as it is free, what a rule of the schedule chooses among the tasks whose inputs
 * have arrived. A stage runs the tasks of one kind in the order of micro-batches; transfers from
 * one stage to another go one after another.
 *
 * Time grows with the tasks, and a little with the meshes for each; memory with the tasks. */
#ifndef MW_SCHEDULE_RUN_H
#define MW_SCHEDULE_RUN_H

#include "schedule/timeline.h"

enum { MW_RUN_CHUNKS = 2 }; /* the most of a mesh */

/* What a mesh has begun. */
typedef struct {
    int begun[MW_TASK_KIND_COUNT][MW_RUN_CHUNKS]; /* micro-batches */
    double free_at, wake;                         /* wake: when it is to look for a task again */
    double waited;   /* between its tasks, but for its first two forwards */
    MwTaskKind last; /* of its forwards and backwards */
} MwMeshRun;

typedef struct {
    MwPipelineSchedule *schedule; /* gets the tasks */
    const MwStageTimes *times;    /* of each stage */
    MwMeshRun *meshes;
    /* [kind][stages * micro_batches] when what a task needs has arrived; INFINITY: not known yet */
    double *ready[MW_TASK_KIND_COUNT];
    double now;
} MwScheduleRun;

/* The next task of a kind in a chunk of a mesh; after the last its micro_batch is their number. */
MwTask mw_run_next(const MwScheduleRun *run, int mesh, MwTaskKind kind, int chunk);
/* When what it needs has arrived: INFINITY if it is after the last, or if that is not known yet. */
double mw_run_ready_at(const MwScheduleRun *run, int mesh, MwTask task);
bool mw_run_is_ready(const MwScheduleRun *run, int mesh, MwTask task);
/* The chunk whose next gradients of weights have been ready the longest; -1: none is ready. */
int mw_run_oldest_weight(const MwScheduleRun *run, int mesh);

/* Begins a task, which is the next of its kind, on a mesh that is free. */
void mw_run_begin(MwScheduleRun *run, int mesh, MwTask task);

/* Adds all tasks to `schedule`, which has none. `advance` begins one on a mesh that is free, or
 * leaves it waiting until something else arrives there. It must not leave all waiting. */
void mw_run_all(MwArena *arena, MwPipelineSchedule *schedule, const MwStageTimes *times,
                void (*advance)(void *context, MwScheduleRun *run, int mesh), void *context);

#endif
