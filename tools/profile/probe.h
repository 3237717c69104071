/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring a machine for `meshwright profile`: a plan whose instructions are the work and the
 * collectives to be timed, run by the executor itself with a trace, and a cluster made of the
 * times. So what is measured is what a model's plan runs: the same kernels' compiler, the same
 * routines, the same transport.
 *
 *     mw_probe_new → (run by meshwright-run with --trace) → mw_probe_read → mw_probe_fill */
#ifndef MW_TOOLS_PROFILE_PROBE_H
#define MW_TOOLS_PROFILE_PROBE_H

#include "base/diag.h"
#include "base/vec.h"
#include "ir/cluster.h"
#include "runtime/plan/plan.h"

typedef enum {
    MW_PROBE_PRODUCT,        /* [m, k] by [k, n] */
    MW_PROBE_STREAM,         /* m elements of a sum of two arrays */
    MW_PROBE_VECTOR,         /* m elements of a function; n: FLOPs of one, as ir/ops.def counts */
    MW_PROBE_LAUNCH,         /* a kernel that does next to nothing */
    MW_PROBE_ATTENTION,      /* m heads of n queries and keys of k elements, causal */
    MW_PROBE_ATTENTION_GRAD, /* and its gradient */
    MW_PROBE_COLLECTIVE,     /* `collective` of `bytes` among `ways` ranks */
} MwProbeKind;

/* One thing to be timed: `count` equal instructions in a row. */
typedef struct {
    MwProbeKind kind;
    int64_t m, n, k;
    MwCollective collective;
    int ways;
    int64_t bytes;
    int first, count; /* instructions of the program */
    double time_s;    /* of one of them; 0 until mw_probe_read */
} MwProbe;

typedef struct {
    MwArena *arena;
    MwPlan *plan;
    MwProbe *probes;
    int count;
} MwProbes;

/* Collectives of every kind and size among groups of `ways` of the `ranks`, all groups at once, and
 * if `has_work` all work of one device. */
MwProbes mw_probe_new(MwArena *arena, int ranks, int ways, bool has_work);

/* Sets the times from the trace of a run of the plan of some steps, of which the first warms up:
 * typical of the steps and instructions, the mean over the ranks. */
bool mw_probe_read(MwProbes *probes, const char *trace_path, MwDiags *diags);

/* Adds what was measured to the cluster of those ranks. */
void mw_probe_fill(MwCluster *cluster, const MwProbes *probes);

#endif
