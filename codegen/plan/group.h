/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of one kernel that do not depend on each other as one instruction with several sets of
 * operands, in the programs of a mesh whose buffers have their places. */
#ifndef MW_CODEGEN_PLAN_GROUP_H
#define MW_CODEGEN_PLAN_GROUP_H

#include "base/arena.h"
#include "runtime/plan/plan.h"

typedef struct {
    const MwPlanBuffer *buffers; /* of the mesh */
    int buffer_count;
    const MwPlanKernel *kernels; /* of the plan */
    double launch_s;             /* of one kernel, predicted: a group is launched once */
    /* Calls that may be grouped wait until nothing else can run before them, so that groups are as
     * large as can be; they do not wait for communication once they have work for longer than it
     * takes to be worth a launch. Else calls are taken forward at most, and nothing runs later than
     * before. */
    bool waits;
} MwGrouping;

/* The instructions in another order, in which everything that uses the same memory keeps its order,
 * and so do messages; those that are one then have the sets of all. */
MwPlanProgram mw_program_group(MwArena *arena, const MwGrouping *grouping,
                               const MwPlanProgram *program);

#endif
