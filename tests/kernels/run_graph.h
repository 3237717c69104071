/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph run on one rank by what the compiler makes of it, and by the reference interpreter. */
#ifndef MW_TESTS_KERNELS_RUN_GRAPH_H
#define MW_TESTS_KERNELS_RUN_GRAPH_H

#include "runtime/plan/plan.h"
#include "tests/kernels/backends.h"
#include "tests/unit/graphs.h"

/* How an input is drawn. */
typedef enum {
    DRAW_ANY,      /* floats in (-2, 2) */
    DRAW_POSITIVE, /* floats in (0.25, 2) */
    DRAW_NAN,      /* as DRAW_ANY, but some are NaN */
    DRAW_WIDE,     /* of any size, with infinities and NaN; integers over all of their range */
} Draw;

typedef struct {
    TestGraph test;
    const GraphBackend *backend;
    MW_VEC(Draw) draw; /* of each input, in order; DRAW_ANY beyond the end */
    MwPlan *plan;
    double **got;  /* [outputs] */
    double **want; /* [outputs] */
} GraphRun;

/* A run by graph_backends[backend]. */
GraphRun graph_run_new(int backend);
void graph_run_free(GraphRun *run);

/* Makes a value an output. */
void graph_run_output(GraphRun *run, MwValueId value);

/* Plans the graph, compiles its kernels, runs a step, and interprets the same step. Aborts the test
 * where anything but a result is wrong. */
void graph_run_step(GraphRun *run);

/* The last instruction to write output i: kernels write over operands that are not needed any
 * more. */
const MwPlanInstr *graph_run_writer(const GraphRun *run, int i);

/* The barriers at which all threads of a block wait for each row, in the first printed function of
 * CUDA C that goes over rows. */
int graph_run_row_barriers(const GraphRun *run);

/* The greatest error of output i, relative to the greater of the wanted value and 1; infinite where
 * one is NaN and the other is not. */
double graph_run_error(const GraphRun *run, int i);

#endif
