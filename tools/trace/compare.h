/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run beside its prediction. Times are of one step: measured ones are the median, over the steps
 * of the trace, of the mean over the ranks of a mesh. */
#ifndef MW_TOOLS_TRACE_COMPARE_H
#define MW_TOOLS_TRACE_COMPARE_H

#include "tools/trace/read.h"

/* Instructions of one mesh that are alike. */
typedef struct {
    const char *name;   /* "layers.*.mlp.gelu (gelu)"; the layer; the kind of work */
    const char *source; /* "models/gpt.graph:12:9", or "" */
    int mesh;
    int count; /* of its instructions */
    double predicted_s, measured_s;
    double *step_s; /* [steps of the report] */
} MwTraceRow;

typedef MW_VEC(MwTraceRow) MwTraceRows;

typedef struct {
    MwArena *arena;
    const MwPlan *plan;
    const MwTraceRun *run;
    /* those that count: whole ones, without the first of the trace if there are others */
    int *steps;
    int step_count;
    MwTraceRow step;     /* a whole step, of the slowest mesh */
    double *mesh_step_s; /* [meshes] measured */
    MwTraceRows kinds;   /* of work, mesh by mesh; with what is left, they sum up to a step */
    MwTraceRows layers, operators; /* by their difference, the greatest first */
} MwTraceReport;

/* All in `arena`. `folds`: operators that differ in the number of their layer alone are one row.
 * False after an error: the trace has no whole step. */
bool mw_trace_compare(MwArena *arena, const MwPlan *plan, const MwTraceRun *run, bool folds,
                      MwTraceReport *report);

#endif
