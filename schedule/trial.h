/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders of tasks that are tried, of which a timed schedule has the best. */
#ifndef MW_SCHEDULE_TRIAL_H
#define MW_SCHEDULE_TRIAL_H

#include "schedule/timeline.h"

/* The fewest results that a stage can send ahead: while one is on its way, the next is made. */
enum { MW_SENDS_AHEAD = 2 };

/* A schedule of the same sizes without tasks, with room for them. */
MwPipelineSchedule *mw_schedule_new_like(MwArena *arena, const MwPipelineSchedule *schedule);

/* Whether all tasks run where a stage can send no more than `sends_ahead` results that the next has
 * not received: before it writes another, it waits. A task receives as it begins. */
bool mw_schedule_runs(MwArena *arena, const MwPipelineSchedule *schedule, int sends_ahead);

/* The fewest, from MW_SENDS_AHEAD on, with which all tasks run: at most as many as there are
 * micro-batches, of which no more can wait. Time grows with the tasks for each that is tried. */
int mw_schedule_sends_ahead(const MwPipelineSchedule *schedule);

/* Gives `schedule` the order of tasks of `other`, which is of the same sizes, if that costs less
 * than `least`, which is then its cost. Where both cost the same, the total decides. */
void mw_schedule_take_if_better(MwArena *arena, MwPipelineSchedule *schedule,
                                const MwPipelineSchedule *other, const MwStageTimes *times,
                                MwTimeline *least);

/* A cost that all others are less than. */
MwTimeline mw_schedule_no_trial(void);

#endif
