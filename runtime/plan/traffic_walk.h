/* SPDX-License-Identifier: MIT */
/* A walk through the traffic of a step: what both ends of every transfer have done so far, and
 * which operations can be done next (traffic.h says when they can). The checker walks to prove that
 * no mesh waits for ever, a simulation to know for how long it waits.
 *
 * Memory grows with the slots of the buffers at the ends of transfers. */
#ifndef MW_RUNTIME_PLAN_TRAFFIC_WALK_H
#define MW_RUNTIME_PLAN_TRAFFIC_WALK_H

#include "runtime/plan/traffic.h"

/* Messages of a transfer so far in the step. */
typedef struct {
    int sent, posted; /* by its sending and its receiving end */
    int ended;        /* of those that both ends have posted: set by who walks */
    int received;     /* that the receiving mesh has waited for */
} MwTransferProgress;

typedef struct {
    const MwTraffic *traffic;
    int **last; /* [endpoint][slot] sending endpoints: 1 + the message that was last sent from it */
    int **users; /* [endpoint][slot] endpoints that are posted ahead: tasks that still use it */
} MwTrafficMesh;

typedef struct {
    const MwPlan *plan;
    MwTransferProgress *transfers; /* [transfers] */
    MwTrafficMesh *meshes;         /* [meshes] */
    /* Called after an end of a transfer, on `mesh`, has sent or posted a message. */
    void (*posted)(void *context, int mesh, int transfer);
    void *context;
} MwTrafficWalk;

/* The beginning of a step, where nothing is posted. traffic: [meshes] that of each, which outlives
 * the walk. */
MwTrafficWalk mw_traffic_walk(MwArena *arena, const MwPlan *plan, const MwTraffic *const *traffic);

/* Posts the receives that all meshes post before their first task. */
void mw_traffic_begin(const MwTrafficWalk *walk);
/* Does the operation for a task on `micro_batch` if it can be done now; false if it has to wait. */
bool mw_traffic_do(const MwTrafficWalk *walk, int mesh, const MwTrafficOp *op, int micro_batch);
/* Posts the receives that the end of the task makes room for. */
void mw_traffic_end_task(const MwTrafficWalk *walk, int mesh, const MwPlanTask *task);

#endif
