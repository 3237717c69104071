/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events of a trace (runtime/exec/trace.h) as the times of what a plan has. */
#ifndef MW_TOOLS_TRACE_READ_H
#define MW_TOOLS_TRACE_READ_H

#include "base/vec.h"
#include "runtime/plan/plan.h"

/* What takes time on a mesh besides its instructions. */
typedef enum {
    MW_TRACE_WAITS,  /* for what was sent */
    MW_TRACE_INPUTS, /* filling them */
    MW_TRACE_STEPS,  /* whole steps */
    MW_TRACE_REST_COUNT
} MwTraceRest;

/* The times of one thing in each step: sums over the ranks of its mesh and all its runs. */
typedef struct {
    MW_VEC(double) step_s; /* by the number of the step, from the first of the trace */
} MwTraceTimes;

typedef struct {
    MwTraceTimes **instrs; /* [programs][instrs] */
    MwTraceTimes **late;   /* [programs][instrs] of a receive: time before
                                                  the last sender began to send */
    MwTraceTimes rest[MW_TRACE_REST_COUNT];
    int ranks; /* that the trace has events of */
} MwTraceMesh;

typedef struct {
    MwTraceMesh *meshes; /* [plan->mesh_count] */
    int64_t first_step;
    int steps;   /* from first_step on */
    bool *whole; /* [steps] every rank that the trace has has ended the step */
    int ranks;
} MwTraceRun;

/* Reads the files of a run: the one of all ranks, or those of some ranks, which may be cut off.
 * NULL after an error. */
MwTraceRun *mw_trace_read(MwArena *arena, const MwPlan *plan, const char *const *paths, int count,
                          MwDiags *diags);

/* The steps that count, ascending, from the first of the trace: those that every rank has ended,
 * but for the first of them if there are others, since that also loads code and touches memory. */
int *mw_trace_steps(MwArena *arena, const MwTraceRun *run, int *count);

#endif
