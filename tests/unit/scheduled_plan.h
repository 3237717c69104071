/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan that does nothing but take time, by a pipeline schedule: its programs receive first and
 * send last. */
#ifndef MW_TESTS_UNIT_SCHEDULED_PLAN_H
#define MW_TESTS_UNIT_SCHEDULED_PLAN_H

#include "runtime/plan/plan.h"
#include "schedule/timeline.h"

/* `devices` on each mesh, on one axis. `times` of each stage; `update_s` of each mesh, of its
 * update, in which all its devices reduce something for `sum_s`. */
typedef struct {
    const MwPipelineSchedule *schedule;
    const MwStageTimes *times;
    int devices;
    double update_s, sum_s;
} ScheduledPlan;

/* On the backend cpu, where nothing hides collectives. */
MwPlan *scheduled_plan(MwArena *arena, const ScheduledPlan *of);

#endif
