/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best layout that fits the memory when its stages are solved, among layouts that fit by
 * estimate. */
#ifndef MW_PASSES_STAGES_VALIDATE_H
#define MW_PASSES_STAGES_VALIDATE_H

#include "passes/stages/batching.h"
#include "passes/stages/layout.h"

/* A layout that the search considered, or a search that found none. */
typedef struct {
    const char *name;
    MwStageLayout layout;    /* without stages: no layout has memory enough */
    bool fits;               /* the memory: by estimate, or as solved if `is_solved` */
    bool is_solved;          /* `needed_bytes` follows from solved stages */
    bool is_taken;           /* by another compilation: not to be chosen again */
    double needed_bytes;     /* of a device; 0: not known */
    MwStageChecked *checked; /* [stages] if `is_solved` */
} MwStageTrial;

typedef struct {
    const MwCompilation *compilation; /* as it is before the pass `stages` */
    MwStageBatchings *batchings;      /* of all layouts */
    double memory_bytes;              /* of a device */
    int threads;
    MwArena *kept;           /* of the stages of trials, and of what is kept of solved ones */
    int64_t *solved_entries; /* takes in the work of solving stages (solver/stop.h) */
} MwStageValidation;

/* The index of the fastest trial that fits and is not taken, the first of equals; -1 if there is
 * none. */
int mw_stage_trials_best(const MwStageTrial *trials, int count);

/* Solves the stages of trials, the best trial first, until one fits. Returns its index, or -1.
 * Updates the trials that it solves. A trial whose stages need more than was estimated may get
 * stages that need less memory. */
int mw_stage_trials_validate(const MwStageValidation *validation, MwStageTrial *trials, int count);

/* The batching that the layout was made for. */
MwStageBatching *mw_stage_batching_of(const MwStageBatchings *batchings,
                                      const MwStageLayout *layout);

#endif
