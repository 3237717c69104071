/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order for the times that tasks and transfers take, of a schedule whose stages go down the
 * meshes and up again. */
#ifndef MW_SCHEDULE_VEE_TIMED_H
#define MW_SCHEDULE_VEE_TIMED_H

#include "schedule/timeline.h"

/* Adds to `schedule`, which has no tasks, those of the published one in the order that is best for
 * `times` of those that are tried. Each mesh has at most as many micro-batches in flight as by the
 * published order, and none needs more memory than the one that needs the most there. */
void mw_pipeline_order_vee_timed(MwPipelineSchedule *schedule, const MwPipelineSchedule *published,
                                 const MwStageTimes *times);

#endif
