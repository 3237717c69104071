/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From layouts that are estimated to fit to one that does. */
#ifndef MW_PASSES_STAGES_SETTLE_H
#define MW_PASSES_STAGES_SETTLE_H

#include "passes/stages/batching.h"
#include "passes/stages/layout.h"

/* One layout that was looked at, or one way to look for them that found none. */
typedef struct {
    const char *name;
    MwStageLayout layout; /* without stages: there was none, for want of memory */
    bool fits;            /* the memory, as far as is known */
    bool is_solved;       /* what it needs is no estimate */
    double needed_bytes;  /* of a device; 0: not known */
} MwStageTrial;

typedef struct {
    const MwCompilation *compilation; /* as it was before the pass `stages` */
    MwStageBatchings *batchings;      /* of all layouts */
    double memory_bytes;              /* of a device */
    int threads;
} MwSettling;

/* Of those that fit the quickest, the first of equals; -1 if none does. */
int mw_stage_trials_best(const MwStageTrial *trials, int count);

/* Solves trials, the best first, until one fits: its index, or -1. They become what they turn out to
 * be; one whose stages need more than was estimated may get leaner stages. */
int mw_stage_settle(const MwSettling *settling, MwStageTrial *trials, int count);

MwStageBatching *mw_stage_batching_of(const MwStageBatchings *batchings,
                                      const MwStageLayout *layout);

#endif
