/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A way to lay out a model: which layers on which devices, by which schedule; and what it takes. */
#ifndef MW_PASSES_STAGES_LAYOUT_H
#define MW_PASSES_STAGES_LAYOUT_H

#include "passes/stages/cost.h"

typedef struct {
    int begin, end; /* layers */
    int first_device;
    MwStageCost cost;
    double needed_bytes; /* by mw_stage_layout_price: of a device, for this stage alone */
} MwLayoutStage;

typedef struct {
    MwPipelineKind kind;
    int micro_batches, chunks;
    int stage_count; /* a multiple of `chunks`; stage s is on mesh s % (stage_count / chunks) */
    MwLayoutStage *stages; /* in order; those of one mesh have the same logical mesh */
    double step_s;         /* by mw_stage_layout_price: */
    double ideal_s;        /* if no mesh ever waited */
    double needed_bytes;   /* of the device that needs most */
} MwStageLayout;

/* Reckons the time of a step, by the timeline of the schedule and then the update, and the memory that
 * it needs. Transfers are priced as if every device of a mesh had all of what crosses. */
void mw_stage_layout_price(const MwStageModel *model, MwStageLayout *layout);

/* As the passes take it, in `arena`; without alternatives. `costs` is where those of its stages are
 * from. */
MwStaging mw_stage_layout_staging(MwArena *arena, MwStageCosts *costs, const MwStageLayout *layout);

/* What a device needs for one stage alone. */
double mw_stage_layout_bytes(const MwStageLayout *layout, int stage);

/* What was asked for a stage. */
MwStageQuestion mw_stage_layout_question(const MwStageLayout *layout, int stage);

/* "4 stages, 1f1b, 16 micro-batches"; without stages "several stages, ..." */
const char *mw_stage_layout_name(MwArena *arena, const MwStageLayout *layout);

#endif
