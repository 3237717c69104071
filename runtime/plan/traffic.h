/* SPDX-License-Identifier: MIT */
/* The traffic of a mesh: when it posts its messages and waits for them, as a function of the plan
 * alone. The executor acts on it, and the checker proves that the traffic of all meshes together
 * ends.
 *
 * An endpoint is one end of a transfer: its sends on the sending mesh, or its receives on the
 * receiving mesh. Its messages are those of the micro-batches, in the order in which the program
 * with its instruction runs on them; both ends post them in this order.
 *
 * A send is posted by its instruction. Whatever writes over its buffer first waits for it, and so
 * does the next send from the same slot. A receive is posted by its instruction at the latest. It
 * is posted ahead, as soon as the tasks that use its slot have run on the micro-batch that had the
 * slot before, if nothing else lies in its buffer and nothing else writes values there. Messages in
 * flight make progress after every instruction. At the end of a step all messages are complete. */
#ifndef MW_RUNTIME_PLAN_TRAFFIC_H
#define MW_RUNTIME_PLAN_TRAFFIC_H

#include "base/arena.h"
#include "runtime/plan/plan.h"

typedef struct {
    int transfer; /* index into the plan's transfers */
    bool sends;
    int buffer;    /* index into this mesh's buffers */
    int program;   /* the program that has the instruction */
    bool is_ahead; /* its receives are posted ahead */
    int users; /* number of programs that use the buffer, each with a task for every micro-batch */
} MwTrafficEndpoint;

typedef enum {
    MW_TRAFFIC_WAIT,     /* wait for the endpoint's send from the slot of the task's micro-batch */
    MW_TRAFFIC_WAIT_ALL, /* wait for all sends of the endpoint */
    MW_TRAFFIC_SEND,
    MW_TRAFFIC_RECEIVE,
    MW_TRAFFIC_KINDS
} MwTrafficOpKind;

/* An operation at an instruction. Waits come before the instruction. */
typedef struct {
    MwTrafficOpKind kind;
    int instr; /* index into the program; -1: before the task's inputs are filled */
    int endpoint;
} MwTrafficOp;

typedef struct {
    MwTrafficOp *ops; /* in the order of instructions */
    int op_count;
    int *ahead; /* endpoints that are posted ahead and whose buffers the program uses */
    int ahead_count;
    int *micro_batches; /* micro-batches of the program's tasks, in order; -1: none */
    int run_count;      /* number of its tasks */
} MwTrafficProgram;

typedef struct {
    MwTrafficEndpoint *endpoints;
    int endpoint_count;
    MwTrafficProgram *programs; /* [mesh->programs] */
} MwTraffic;

/* Each transfer of the mesh has one instruction there. */
MwTraffic mw_traffic(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh);

#endif
