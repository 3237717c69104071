/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measuring a machine for `meshwright profile`: a plan whose instructions are the work and the
 * collectives to be timed, run by the executor itself with a trace, and a cluster made of the
 * times. What is measured is therefore what the plan of a model runs: kernels of the same compiler,
 * the same routines, the same transport.
 *
 *     mw_probe_new → (run by meshwright-run with --trace) → mw_probe_read → mw_probe_fill */
#ifndef MW_TOOLS_PROFILE_PROBE_H
#define MW_TOOLS_PROFILE_PROBE_H

#include "base/diag.h"
#include "base/vec.h"
#include "ir/cluster.h"
#include "runtime/plan/plan.h"

typedef enum {
    MW_PROBE_PRODUCT,        /* matrix product of [m, k] and [k, n] in `type` */
    MW_PROBE_STREAM,         /* sum of two arrays of m elements */
    MW_PROBE_VECTOR,         /* function of m elements, of n FLOPs each as ir/ops.def counts them */
    MW_PROBE_ROW_SUM,        /* sums of m rows of n elements */
    MW_PROBE_LAUNCH,         /* kernel that does next to nothing */
    MW_PROBE_ATTENTION,      /* causal attention: m heads of n queries and keys of k elements */
    MW_PROBE_ATTENTION_GRAD, /* the gradient of such an attention */
    MW_PROBE_CONV,           /* convolution with m windows of n elements and k features */
    MW_PROBE_CONV_TRANSPOSE, /* its gradient by the image */
    MW_PROBE_CONV_FILTER_GRAD, /* and by the filter */
    MW_PROBE_COLLECTIVE,       /* `collective` of `bytes` among `ways` ranks */
} MwProbeKind;

/* One thing to be timed: `count` equal instructions in a row. */
typedef struct {
    MwProbeKind kind;
    int64_t m, n, k;
    MwType type;
    MwCollective collective;
    int ways;
    int64_t bytes;
    int first, count; /* the instructions, by their place in the program */
    /* of one of them, from where it begins to where the next one does; 0 before mw_probe_read */
    double time_s;
} MwProbe;

typedef struct {
    MwArena *arena;
    MwPlan *plan;
    MwProbe *probes;
    int count;
} MwProbes;

/* A plan that times collectives of every kind and size among groups of `ways` of the `ranks`, all
 * groups at once, and if `has_work` all work of one device too. */
MwProbes mw_probe_new(MwArena *arena, int ranks, int ways, bool has_work);

/* Which time of many stands for all. */
typedef enum {
    MW_PROBE_TYPICAL, /* that of a run which nothing else disturbs */
    MW_PROBE_MEAN,    /* of ranks that wait for each other's turns on the cores: these count */
} MwProbeTime;

/* Sets the times from the trace of a run of the plan. The first step warms up; the time is that of
 * the other steps and of the instructions, and the mean over the ranks. False after an error. */
bool mw_probe_read(MwProbes *probes, MwProbeTime which, const char *trace_path, MwDiags *diags);

/* Adds the measured figures to the cluster of those ranks. */
void mw_probe_fill(MwCluster *cluster, const MwProbes *probes);

#endif
