/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes schedules from their kind and size, with the generators of schedule.def. */
#ifndef MW_SCHEDULE_GENERATE_H
#define MW_SCHEDULE_GENERATE_H

#include "schedule/timeline.h"

/* The schedule of a kind, in `arena`, for any numbers from 1 on. `chunks` is at most
 * mw_pipeline_most_chunks. There are fewer than 2^31 tasks in all. The order of a timed schedule is
 * the published one, or, if there is none, that of tasks that all take equally long, and transfers
 * that take no time. */
MwPipelineSchedule *mw_pipeline_schedule_new(MwArena *arena, MwPipelineKind kind, int meshes,
                                             int micro_batches, int chunks);

/* The same, where a timed schedule has the order for `times`, with an entry for each stage, in any
 * unit. By the order for some times no mesh needs more memory than the mesh that needs the most by
 * the published one, if there is one. */
MwPipelineSchedule *mw_pipeline_schedule_timed(MwArena *arena, MwPipelineKind kind, int meshes,
                                               int micro_batches, int chunks,
                                               const MwStageTimes *times);

/* The most micro-batches in flight on a mesh, if meshes have one chunk: by formula. A timed
 * schedule may have fewer, or more where gradients of weights keep little. */
int mw_pipeline_in_flight(MwPipelineKind kind, int meshes, int mesh, int micro_batches);

#endif
