/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of pipeline schedules and timelines, independent of the code that makes them. */
#ifndef MW_SCHEDULE_CHECK_H
#define MW_SCHEDULE_CHECK_H

#include "base/diag.h"
#include "schedule/timeline.h"

/* Whether a schedule can run and needs no more memory than it states: each mesh runs each task
 * of its kind of schedule once, after the tasks that it needs of its own mesh; there is no
 * deadlock between meshes; and no more micro-batches are in flight at any time, on a mesh or in
 * a chunk, than stated. Adds an error for the first fault of each mesh. Scratch data goes to
 * `arena`. */
bool mw_pipeline_schedule_check(MwArena *arena, const MwPipelineSchedule *schedule, MwDiags *diags);

/* Whether a timeline of a valid schedule is possible: every task lasts as long as `times` says,
 * and begins after the previous task of its mesh has ended and its inputs have arrived. Adds an
 * error for the first fault of each mesh. */
bool mw_timeline_check(MwArena *arena, const MwPipelineSchedule *schedule,
                       const MwStageTimes *times, const MwTimeline *timeline, MwDiags *diags);

#endif
