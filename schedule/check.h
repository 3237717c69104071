/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of pipeline schedules and timelines that trust nobody who made them. */
#ifndef MW_SCHEDULE_CHECK_H
#define MW_SCHEDULE_CHECK_H

#include "base/diag.h"
#include "schedule/timeline.h"

/* Whether a schedule can run and keeps what it states: each mesh runs each task of its kind of
 * schedule once, in an order that respects what a task needs of its own mesh; the meshes never all
 * wait for one another; and no more micro-batches are in flight at any time, on a mesh or in a chunk,
 * than is stated. Adds an error for the first thing wrong of each mesh. */
bool mw_pipeline_schedule_check(MwArena *arena, const MwPipelineSchedule *schedule, MwDiags *diags);

/* Whether a timeline of a good schedule is possible: every task lasts as long as `times` says and
 * begins after the one before it on its mesh has ended and what it needs has arrived. Adds an error
 * for the first thing wrong of each mesh. */
bool mw_timeline_check(MwArena *arena, const MwPipelineSchedule *schedule,
                       const MwStageTimes *times, const MwTimeline *timeline, MwDiags *diags);

#endif
