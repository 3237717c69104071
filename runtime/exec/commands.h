/* SPDX-License-Identifier: MIT */
/* One step of a rank as a list of commands, in the order in which the executor issues them, each on
 * a queue of the device, with the events that it waits for and records. The list follows from the
 * plan alone and is the same on all ranks of a mesh, and so is the order of their collectives.
 *
 * Where collectives have a queue of their own, they overlap with kernels unless both access the
 * same bytes (hazards.h). Collectives of tasks without a micro-batch, which reduce gradients before
 * the update, are hoisted: they are issued as soon as the last backward task is done with what they
 * read and with the memory that they write.
 *
 * A loop is one command. Where it has collectives on a queue of their own, it is a command for each
 * instruction and run instead, so that the list grows with the runs. */
#ifndef MW_RUNTIME_EXEC_COMMANDS_H
#define MW_RUNTIME_EXEC_COMMANDS_H

#include "runtime/exec/device.h"
#include "runtime/plan/traffic.h"

typedef enum {
    MW_COMMAND_BEGIN_STEP, /* reset the accumulators; post the receives that are posted ahead */
    MW_COMMAND_BEGIN_TASK, /* do the traffic before the task's inputs, then fill the inputs */
    MW_COMMAND_TRAFFIC,    /* do the waits, sends and receives at an instruction */
    MW_COMMAND_INSTR,      /* run an instruction; nothing for a send or receive */
    MW_COMMAND_LOOP,       /* run the loop that begins with an instruction, all its runs */
    MW_COMMAND_END_TASK, /* take the task's outputs; post the receives that it was in the way of */
    MW_COMMAND_END_STEP, /* complete all messages; take the outputs of the step */
} MwCommandKind;

typedef struct {
    MwCommandKind kind;
    MwQueue queue;
    int task;         /* index into the mesh's tasks; -1: a command of the step */
    int instr;        /* index into the task's program; -1: a command of the task or step */
    int run;          /* of the loop that the instruction is in */
    int traffic_op;   /* MW_COMMAND_TRAFFIC: the first of its operations in the program's traffic */
    int wait_event;   /* event that the queue waits for before the command; -1: none */
    int record_event; /* event that is recorded on the queue after the command; -1: none */
} MwCommand;

typedef struct {
    MwCommand *at;
    int count, event_count;
} MwCommandList;

/* `collectives` is the queue of collectives in groups of several members. */
MwCommandList mw_command_list(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                              MwQueue collectives);

#endif
