/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all formats of `inspect` show of stages, of what passes between them and of their time,
 * derived from the plan. */
#ifndef MW_TOOLS_INSPECT_PIPELINE_H
#define MW_TOOLS_INSPECT_PIPELINE_H

#include "codegen/plan/timeline.h"
#include "ir/print.h"
#include "tools/schedule/view.h"

/* A stage. Bytes are of one device. */
typedef struct {
    const MwPlanStage *plan;
    const MwPlanMesh *mesh;
    double work_s; /* time of its tasks on all micro-batches and of its update, in a step */
    int64_t weight_bytes, state_bytes;
    int64_t
        activation_bytes; /* what one micro-batch leaves from one task of the stage to another */
    int in_flight;        /* the most micro-batches that the stage has begun and not ended */
    int64_t held_bytes;   /* activations in all their slots */
} MwInspectStage;

/* A value that goes from one stage to another. */
typedef struct {
    const MwPlanTransfer *transfer;
    MwPlanEnd from, to;
    int runs;            /* how often it crosses in a step */
    int64_t bytes;       /* that cross from mesh to mesh each time */
    int64_t least_bytes; /* the fewest bytes that can cross each time */
} MwInspectBorder;

typedef struct {
    const MwPlan *plan;
    MwInspectStage *stages;   /* [plan->stage_count] */
    MwInspectBorder *borders; /* [plan->transfer_count] */
    const MwScheduleView
        *drawn;         /* timeline of a step without its update; NULL if there is one mesh */
    double bubble_rate; /* as docs/schedules.md defines it; 0 if there is one mesh */
    int **weight_stage; /* [meshes][weights] the first stage that uses it */
} MwInspectPipeline;

/* All in `arena`. `plan` must be one that mw_plan_check passes. */
MwInspectPipeline mw_inspect_pipeline(MwArena *arena, const MwPlan *plan);

/* Whether the mesh has several stages. */
bool mw_inspect_is_shared(const MwPlan *plan, int mesh);

/* "0 to 3", "2" or "none", in `arena`. */
const char *mw_inspect_range(MwArena *arena, int first, int count);

#endif
