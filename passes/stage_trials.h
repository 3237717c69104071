/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best layout of a model over numbers of micro-batches, schedules and numbers of stages. */
#ifndef MW_PASSES_STAGE_TRIALS_H
#define MW_PASSES_STAGE_TRIALS_H

#include "passes/stage_choice.h"

typedef struct {
    const MwCompilation *compilation; /* its options pin what they say */
    const int *layer_stage;           /* [layers] the stage of each; -1: free */
    int least_stages;                 /* 1, or more where stages are pinned */
    double memory_bytes;              /* of a device */
    int threads;
} MwStageTrialsQuery;

/* What became of one number of micro-batches and one schedule, or of one stage. */
typedef struct {
    const char *name;
    bool fits;
    double step_s;       /* if it does */
    double needed_bytes; /* if not; 0: not known */
} MwStageTrial;

typedef struct {
    bool found;
    MwStageLayout best;   /* if found; else what needs the least memory of what was priced, */
    bool has_layout;      /* if anything was */
    MwStaging staging;    /* that of `best` */
    MwStageReason reason; /* if not found: of several stages */
    double needed_bytes;  /* if not found for want of memory: of a device, as far as is known */
    double kept_bytes;    /* of the whole model: weights, states and the like */
    int trial_count;
    MwStageTrial *trials; /* without `best` */
} MwStageTrials;

/* In the arena of the compilation. */
MwStageTrials mw_stage_trials(const MwStageTrialsQuery *query);

#endif
