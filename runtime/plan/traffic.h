/* SPDX-License-Identifier: MIT */
/* When a mesh posts its messages and waits for them, as it follows from the plan alone: the executor
 * does it, and the checker proves that it ends.
 *
 * A line is one end of a transfer. Its messages are those of the micro-batches in the order in which
 * its program runs on them; both ends post them in this order.
 *
 * Sends are posted by their instruction; what writes over their buffer waits for them first, and so
 * does the next send of the slot. A receive is posted by its instruction at the latest. Where nothing
 * else lies in its buffer and nothing else puts values there, it is posted ahead: as soon as the tasks
 * that use the slot have run on the micro-batch that had it before. After every instruction messages
 * under way go on. At the end of a step all are done. */
#ifndef MW_RUNTIME_PLAN_TRAFFIC_H
#define MW_RUNTIME_PLAN_TRAFFIC_H

#include "base/arena.h"
#include "runtime/plan/plan.h"

typedef struct {
    int transfer;
    bool sends;
    int buffer;  /* of this mesh */
    int program; /* with the instruction */
    bool is_ahead;
    int users; /* programs that use the buffer, each a task on every micro-batch */
} MwTrafficLine;

typedef enum {
    MW_TRAFFIC_WAIT,     /* for the line's send from the slot of the task's micro-batch */
    MW_TRAFFIC_WAIT_ALL, /* for all sends of the line */
    MW_TRAFFIC_SEND,
    MW_TRAFFIC_RECEIVE,
    MW_TRAFFIC_KINDS
} MwTrafficKind;

/* Waits come before the instruction, and before the filling of inputs where `instr` is -1. */
typedef struct {
    MwTrafficKind kind;
    int instr;
    int line;
} MwTrafficEvent;

typedef struct {
    MwTrafficEvent *events; /* in the order of instructions */
    int event_count;
    int *lines; /* that are posted ahead and whose buffers it uses */
    int line_count;
    int *micro_batches; /* of its tasks, in order */
    int run_count;
} MwTrafficProgram;

typedef struct {
    MwTrafficLine *lines;
    int line_count;
    MwTrafficProgram *programs; /* [mesh->programs] */
} MwTraffic;

/* Each transfer of the mesh has one instruction there. */
MwTraffic mw_traffic(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh);

#endif
