/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A local graph run on all devices of a simulated mesh, beside its global graph, in double
 * precision: every value of every device is compared with its part of the global value. */
#ifndef MW_TESTS_REFERENCE_SPMD_H
#define MW_TESTS_REFERENCE_SPMD_H

#include "passes/sharding/partition.h"

typedef struct {
    const MwLocalGraph *local;
    uint64_t seed;      /* of the data: weights, states, inputs */
    int micro_batch;    /* which one is run */
    int integers_below; /* inputs that are integers are in [0, integers_below) */
} SpmdRun;

typedef struct {
    double error;      /* the greatest error of any value, relative to max(1, |value|) */
    const char *worst; /* name of the local value that has it */
    int collectives;   /* run on the way */
} SpmdResult;

/* Runs both graphs once, all phases in turn, and compares. Names are in the arena of the graph. */
SpmdResult spmd_run(const SpmdRun *run);

#endif
