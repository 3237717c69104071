/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of the search for the best layout of a model, and its answer (trials.h). */
#ifndef MW_PASSES_STAGES_TRIALS_QUERY_H
#define MW_PASSES_STAGES_TRIALS_QUERY_H

#include "passes/stages/choice.h"
#include "passes/stages/validate.h"

typedef struct {
    const MwCompilation *compilation; /* its options restrict the search */
    const int *layer_stage;           /* [layers] pinned stage; -1: free */
    int least_stages;                 /* 1, or more where stages are pinned */
    double memory_bytes;              /* of a device */
    int threads;
} MwStageTrialsQuery;

typedef struct {
    int trial_count;
    MwStageTrial *trials;
    int chosen;             /* index of the best trial that fits; -1: none fits */
    int leanest;            /* index of the layout that needs the least memory; -1: no layout */
    MwStaging staging;      /* of the chosen trial; of the leanest if none fits */
    MwStageReason reason;   /* why there cannot be several stages; POSSIBLE: there can */
    double needed_bytes;    /* if none fits: the least that a device needs; INFINITY: not known */
    double kept_bytes;      /* of the whole model: weights, gradients, states */
    double left_out_s;      /* the least of MwStageChoiceAnswer.left_out_s */
    int64_t solved_entries; /* work of solving stages of layouts (solver/stop.h) */
} MwStageTrials;

#endif
