/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups calls of one kernel that do not depend on each other into one instruction with several
 * sets of operands, in the programs of a mesh whose buffers have their places. */
#ifndef MW_CODEGEN_PLAN_GROUP_H
#define MW_CODEGEN_PLAN_GROUP_H

#include "base/arena.h"
#include "runtime/plan/plan.h"

typedef struct {
    const MwPlanBuffer *buffers; /* of the mesh */
    int buffer_count;
    int64_t host_begin;          /* offset from which on buffers lie on the host */
    const MwPlanKernel *kernels; /* of the plan */
    int kernel_count;
    double launch_s; /* of one kernel, predicted: a group is launched once */
    /* Calls that may be grouped wait until nothing else can run before them, so that groups are as
     * large as can be; they do not wait for communication once they have work for longer than it
     * takes to be worth a launch. If false, calls only move forward, and nothing runs later than
     * before. */
    bool waits;
    /* Nothing moves past a receive, since programs of other stages may run while it waits
     * (codegen/plan/merge.h). */
    bool receives_part;
} MwGrouping;

/* Returns the program in another order, in which instructions that use the same memory keep their
 * order, and messages keep theirs. A group is one instruction with the operand sets of all of its
 * calls. */
MwPlanProgram mw_program_group(MwArena *arena, const MwGrouping *grouping,
                               const MwPlanProgram *program);

#endif
