/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators of schedules, two functions for each row of schedule.def, and what they share. */
#ifndef MW_SCHEDULE_ORDER_H
#define MW_SCHEDULE_ORDER_H

#include "schedule/timeline.h"

/* mw_pipeline_order_NAME receives a schedule with its sizes and empty meshes, and the times of its
 * stages, which those that are not `timed` (schedule.def) ignore; NULL: the order is the published
 * one, or, if there is none, that of tasks that all take equally long. It adds the tasks of each
 * mesh in order, and sets the numbers of micro-batches in flight.
 *
 * mw_pipeline_in_flight_NAME gives them for meshes with one chunk by a formula: micro-batches in
 * flight on mesh `mesh` of `meshes`; if the schedule is timed, as many as have memory, each with
 * all that it keeps. The step may have fewer micro-batches than the result. */
#define SCHEDULE(id, name, ...)                                                                    \
    void mw_pipeline_order_##name(MwPipelineSchedule *schedule, const MwStageTimes *times);        \
    int64_t mw_pipeline_in_flight_##name(int meshes, int mesh, int micro_batches);
#include "schedule/schedule.def"
#undef SCHEDULE

/* Appends a task. The array of a mesh has room for all its tasks. */
static inline void mw_mesh_schedule_add(MwMeshSchedule *mesh, MwTaskKind kind, int micro_batch,
                                        int chunk)
{
    mesh->tasks[mesh->task_count++] = (MwTask){kind, micro_batch, chunk};
}

#endif
