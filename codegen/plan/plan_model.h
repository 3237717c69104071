/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a parsed model to a plan that fits the memory of the cluster's devices: all that `meshwright
 * plan` does between reading and writing. */
#ifndef MW_CODEGEN_PLAN_PLAN_MODEL_H
#define MW_CODEGEN_PLAN_PLAN_MODEL_H

#include "passes/pass.h"
#include "runtime/plan/plan.h"

/* What to plan. All of it stays as it is, but for names that the interner of the graph learns. */
typedef struct {
    const MwGraph *graph;  /* as parsed */
    const char *source;    /* path of the model as the user gave it */
    MwPlanCommand command; /* that asks for the plan, which records it; zeros: none does */
    const MwCluster *cluster;
    const MwCompileOptions *options;
    const MwPipelineOptions *pipeline;
} MwPlanRequest;

typedef struct {
    MwPlan *plan;    /* checked; NULL after errors, and where the request stops after a pass */
    MwExcess excess; /* kind NONE: memory is not what it failed for */
    int attempts;    /* without those for other layouts */
    int64_t
        target_bytes; /* memory of a device that the delivered attempt planned for; 0: all of it */
} MwPlanResult;

/* In `arena`. The passes run on a copy of the graph; where the arena of their plan exceeds the
 * memory of a device they run again on another, with a lower target (passes/memory_target.h), at
 * most 1 + MW_TUNED_MEMORY_CORRECTIONS times, and then for up to MW_TUNED_FINALISTS other layouts
 * that the search for stages estimates at about as much. Where a size is padded, all of this
 * happens again with less padding (MW_TUNED_MOST_PADDING and those after it) and without. One
 * attempt is delivered, the one whose plan has the quickest step or, where none gives a plan, the
 * first without padding: diagnostics, dumps, times and saved problems are of that one alone. Where
 * the pipeline stops after a pass, only sizes with the most padding are tried. */
MwPlanResult mw_plan_model(MwArena *arena, const MwPlanRequest *request, MwDiags *diags);

#endif
