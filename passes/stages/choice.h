/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best cut of a model into two or more stages, for one number of micro-batches and one
 * schedule. */
#ifndef MW_PASSES_STAGES_CHOICE_H
#define MW_PASSES_STAGES_CHOICE_H

#include "passes/stages/layout.h"
#include "solver/stages/stages.h"

typedef struct {
    const MwStageModel *model;
    MwStageCosts *costs; /* of the model */
    MwPipelineKind kind;
    int chunks;       /* of each mesh; more than 1: of meshes of one size, whose number */
    int meshes;       /* is given; else 0: any number from 2, */
    int least_stages; /* and from this */
    int least_devices, most_devices; /* of a stage; most 0: any number */
    const int *layer_stage;          /* [layers] -1: free; NULL: all are */
    double memory_bytes;             /* of a device */
} MwStageChoiceQuery;

typedef struct {
    MwStageReason reason;
    MwStageLayout layout; /* if POSSIBLE; priced */
    double needed_bytes;  /* if MEMORY: of a device, at least; 0: not known */
} MwStageChoiceAnswer;

MwStageChoiceAnswer mw_stage_choice(MwArena *arena, const MwStageChoiceQuery *query);

#endif
