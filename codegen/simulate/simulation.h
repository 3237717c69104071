/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a simulation is asked, and what comes of it. All times are in seconds. */
#ifndef MW_CODEGEN_SIMULATE_SIMULATION_H
#define MW_CODEGEN_SIMULATE_SIMULATION_H

#include "ir/cluster.h"

enum { MW_MOST_SIMULATED_INSTRS = 1 << 18 };

/* What a device does by itself takes `factor` times as long; collectives wait for it. */
typedef struct {
    int rank;
    double factor;
} MwStraggler;

typedef struct {
    /* NULL: links have the plan's times, and no nodes. It must outlive the simulation. */
    const MwCluster *cluster;
    bool contention;          /* messages that use one link at a time share it */
    bool collectives_in_line; /* those and copies to and from the host are not beside kernels */
    bool messages_in_line;    /* a mesh computes nothing while one is on its way to or from it */
    /* relative standard deviation of a task on a device, of a log-normal distribution whose mean is
     * the predicted time; 0: none */
    double jitter;
    const MwStraggler *stragglers;
    int straggler_count;
    uint64_t seed;
    int steps; /* at least 1 */
    /* tasks and messages of the first step, and its instructions if there are no more than
     * MW_MOST_SIMULATED_INSTRS */
    bool records;
} MwSimulateOptions;

/* Seconds of a step on one device of a mesh, the mean over steps. */
typedef struct {
    double compute_s;
    double collective_s; /* that nothing else hides */
    double transfer_s;   /* of waiting for messages that are on their way */
    double bubble_s;     /* of waiting for messages that are not */
    double idle_s;       /* after its last task */
} MwSimulatedMesh;

/* The longest chain of tasks and messages, each of which began when the one before ended: what the
 * seconds of a step go into. */
typedef struct {
    double compute_s, collective_s, transfer_s;
} MwSimulatedPath;

typedef struct {
    int mesh, task;
    double begin_s, end_s;
    double factor;   /* of the times of what it does */
    double *piece_s; /* [op_count of its traffic + 1] when what follows each operation begins */
} MwSimulatedTask;

/* Of a loop, its first run. */
typedef struct {
    int task;  /* index into the tasks of the simulation */
    int instr; /* index into the program */
    double begin_s, end_s;
} MwSimulatedInstr;

typedef struct {
    int transfer;
    int message; /* of its micro-batches in order */
    double begin_s, end_s;
} MwSimulatedMessage;

typedef struct {
    double step_s; /* mean over steps */
    double least_s, most_s;
    int64_t events; /* of all steps */
    bool overlaps;  /* collectives ran while kernels ran */
    MwSimulatedMesh *meshes;
    MwSimulatedPath path;   /* the mean over steps */
    MwSimulatedTask *tasks; /* in the order in which they end */
    int task_count;
    MwSimulatedInstr *instrs; /* those that take time, task by task */
    int instr_count;
    MwSimulatedMessage *messages; /* in the order in which they end */
    int message_count;
} MwSimulation;

#endif
