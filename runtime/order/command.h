/* SPDX-License-Identifier: MIT */
/* A command of a step, and the list of all, of which some make up graphs. */
#ifndef MW_RUNTIME_ORDER_COMMAND_H
#define MW_RUNTIME_ORDER_COMMAND_H

#include "runtime/plan/plan.h"

/* The queues of a device. Work on one queue is done in order; all queues are served concurrently. A
 * device without concurrency has MW_QUEUE_COMPUTE only. */
typedef enum {
    MW_QUEUE_COMPUTE,
    MW_QUEUE_COMMUNICATION,
    MW_QUEUE_COPIES, /* between the device and the host */
    MW_QUEUE_COUNT
} MwQueue;

enum { MW_COMMAND_WAITS = MW_QUEUE_COUNT - 1 }; /* most events that a command waits for */

typedef enum {
    MW_COMMAND_BEGIN_STEP, /* reset the accumulators; post the receives that are posted ahead */
    MW_COMMAND_BEGIN_TASK, /* do the traffic before the task's inputs, then fill the inputs */
    MW_COMMAND_TRAFFIC,    /* do the waits, sends and receives at an instruction */
    MW_COMMAND_INSTR,      /* run an instruction; nothing for a send or receive */
    MW_COMMAND_LOOP,       /* run the loop that begins with an instruction, all its runs */
    MW_COMMAND_END_TASK, /* take the task's outputs; post the receives that it was in the way of */
    MW_COMMAND_END_STEP, /* complete all messages; take the outputs of the step */
    /* Nothing; what is between them can be captured as a graph. A graph is on the compute queue:
     * its work begins when the begin has waited, and the end records when all of it is done. */
    MW_COMMAND_BEGIN_GRAPH,
    MW_COMMAND_END_GRAPH,
} MwCommandKind;

typedef struct {
    MwCommandKind kind;
    MwQueue queue;
    int task;       /* index into the mesh's tasks; -1: a command of the step or a graph */
    int instr;      /* index into the task's program; -1: a command of the task, step or graph */
    int run;        /* of the loop that the instruction is in */
    int traffic_op; /* MW_COMMAND_TRAFFIC: the first of its operations in the program's traffic */
    /* events that the queue waits for before the command; -1: none */
    int wait_events[MW_COMMAND_WAITS];
    int record_event; /* event that is recorded on the queue after the command; -1: none */
} MwCommand;

typedef struct {
    int begin, end;       /* its MW_COMMAND_BEGIN_GRAPH and MW_COMMAND_END_GRAPH */
    int captured;         /* graphs that do the same are captured once, under this number */
    bool has_collectives; /* in groups of several members */
} MwCommandGraph;

typedef struct {
    MwCommand *at;
    int count, event_count;
    MwCommandGraph *graphs; /* ascending, none in another */
    int graph_count, captured_count;
    bool is_one_graph; /* all of the step, which is captured for each slot of steps */
} MwCommandList;

#endif
