/* SPDX-License-Identifier: MIT */
/* The memory of a device that values take over a step, from the plan alone: a value lies in its
 * slot from the instruction that writes it to the last that reads it. What persists is always
 * there. */
#ifndef MW_RUNTIME_PLAN_LIVE_H
#define MW_RUNTIME_PLAN_LIVE_H

#include "base/arena.h"
#include "base/vec.h"
#include "runtime/plan/plan.h"

/* The points of a step are its instructions, task by task; a task without instructions is one
 * point, and the runs of a loop are one. */
typedef struct {
    int *first;     /* [tasks + 1] the first point of each task; the number of points */
    int64_t *bytes; /* [points] that are live on one device */
} MwPlanLive;

MwPlanLive mw_plan_live(MwArena *arena, const MwPlanMesh *mesh);

/* A slot that holds a value; those of buffers that persist always do. */
typedef struct {
    int buffer, slot;
} MwPlanLiveSlot;

typedef MW_VEC(MwPlanLiveSlot) MwPlanLiveSlots;

/* The slots that are live at a point. Their bytes may overlap, so that together they can be more
 * than the arena: a result may lie where an operand of its instruction lies. */
MwPlanLiveSlots mw_plan_live_at(MwArena *arena, const MwPlanMesh *mesh, int point);

#endif
