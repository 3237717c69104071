/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generators of schedules, two functions for each row of schedule.def, and what they share. */
#ifndef MW_SCHEDULE_ORDER_H
#define MW_SCHEDULE_ORDER_H

#include "schedule/schedule.h"

/* mw_pipeline_order_NAME is given a schedule with its numbers and empty meshes. It adds the tasks of each
 * mesh in their order and states how many micro-batches are in flight, from a formula.
 *
 * mw_pipeline_in_flight_NAME is that formula where meshes have one chunk: micro-batches in flight on mesh
 * `mesh` of `meshes`, of which there may be fewer in the step. */
#define SCHEDULE(id, name, ...)                                                                    \
    void mw_pipeline_order_##name(MwPipelineSchedule *schedule);                                   \
    int64_t mw_pipeline_in_flight_##name(int meshes, int mesh, int micro_batches);
#include "schedule/schedule.def"
#undef SCHEDULE

/* Adds a task at the end. The arrays of a mesh are as long as its tasks will be. */
static inline void mw_mesh_schedule_add(MwMeshSchedule *mesh, MwTaskKind kind, int micro_batch,
                                        int chunk)
{
    mesh->tasks[mesh->task_count++] = (MwTask){kind, micro_batch, chunk};
}

#endif
