/* SPDX-License-Identifier: MIT */
/* A step of a rank as a list of acts, in the order in which the executor does them, each on a queue of
 * the device, with what it waits for there. All follows from the plan, and is the same on all ranks of
 * a mesh; so are, by that, the collectives and their order.
 *
 * Where collectives have a queue of their own they are done while kernels run, unless both reach the
 * same bytes (hazards.h), and those of tasks that have no micro-batch, which add up gradients before
 * the update, are issued as soon as the last backward has left what they read and nobody needs what
 * lies where they write. */
#ifndef MW_RUNTIME_EXEC_ACTS_H
#define MW_RUNTIME_EXEC_ACTS_H

#include "runtime/exec/device.h"
#include "runtime/plan/traffic.h"

typedef enum {
    MW_ACT_BEGIN,    /* accumulators get their values, messages that are ahead are posted */
    MW_ACT_TASK,     /* a task begins: what is waited for before its inputs, and they are filled */
    MW_ACT_EVENTS,   /* what is waited for, sent or received before or by an instruction */
    MW_ACT_INSTR,    /* an instruction runs, if it is no message */
    MW_ACT_TASK_END, /* the task's outputs are taken, its lines go on */
    MW_ACT_END,      /* messages are done, outputs of the step are taken */
} MwActKind;

typedef struct {
    MwActKind kind;
    MwQueue queue;
    int task;  /* of the mesh; -1: BEGIN, END */
    int instr; /* of its program; -1 where it is of none */
    int event; /* EVENTS: the first of them, of the program's traffic */
    int wait;  /* before it: the mark that its queue waits for; -1: none */
    int mark;  /* after it: the mark that is set on its queue; -1: none */
} MwAct;

typedef struct {
    MwAct *at;
    int count, mark_count;
} MwActs;

/* `collectives`: the queue on which those of several members are done. */
MwActs mw_acts(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
               MwQueue collectives);

#endif
