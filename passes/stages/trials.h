/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best layout of a model over numbers of micro-batches, schedules and numbers of stages. */
#ifndef MW_PASSES_STAGES_TRIALS_H
#define MW_PASSES_STAGES_TRIALS_H

#include "passes/stages/choice.h"
#include "passes/stages/settle.h"

typedef struct {
    const MwCompilation *compilation; /* its options pin what they say */
    const int *layer_stage;           /* [layers] the stage of each; -1: free */
    int least_stages;                 /* 1, or more where stages are pinned */
    double memory_bytes;              /* of a device */
    int threads;
} MwStageTrialsQuery;

typedef struct {
    int trial_count;
    MwStageTrial *trials;
    int chosen;           /* of the trials; -1: none fits */
    int leanest;          /* the layout that needs the least memory as far as is known; -1: none */
    MwStaging staging;    /* that of the one, else of the other */
    MwStageReason reason; /* why several stages cannot be, if they cannot */
    double needed_bytes;  /* if none fits: of a device, as far as is known; INFINITY: it is not */
    double kept_bytes;    /* of the whole model: weights, states and the like */
} MwStageTrials;

/* In the arena of the compilation. */
MwStageTrials mw_stage_trials(const MwStageTrialsQuery *query);

#endif
