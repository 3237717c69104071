/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the generators of schedules share; for passes/schedule*.c alone.
 *
 * A generator is given a schedule with its numbers and empty meshes. It adds the tasks of each mesh
 * in their order and states how many micro-batches are in flight, from a formula. */
#ifndef MW_SCHEDULE_ORDER_H
#define MW_SCHEDULE_ORDER_H

#include "schedule/schedule.h"

#define SCHEDULE(id, name, what, order, splits, chunked, trains)                                   \
    void mw_pipeline_order_##order(MwPipelineSchedule *schedule);
#include "schedule/schedule.def"
#undef SCHEDULE

/* Adds a task at the end. The arrays of a mesh are as long as its tasks will be. */
static inline void mw_mesh_schedule_add(MwMeshSchedule *mesh, MwTaskKind kind, int micro_batch,
                                        int chunk)
{
    mesh->tasks[mesh->task_count++] = (MwTask){kind, micro_batch, chunk};
}

#endif
