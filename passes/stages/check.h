/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a layout whose costs are estimates fits the memory when its stages are solved. */
#ifndef MW_PASSES_STAGES_CHECK_H
#define MW_PASSES_STAGES_CHECK_H

#include "passes/stages/layout.h"

typedef struct {
    const MwCompilation *compilation; /* as it is before the pass `stages`; stays unchanged */
    const MwStageLayout *layout;
    const MwStaging *staging; /* that of the layout */
    double memory_bytes;      /* of a device */
    int threads;
    MwStageChecked *checked; /* [stages] result, of a layout that fits; choices lie in `kept` */
    MwArena *kept;
    int64_t *solved_entries; /* takes in the work of solving (solver/stop.h) */
} MwStageCheckRequest;

/* Solves the stages of the layout as the pass `sharding` does, quickly, and returns the bytes
 * that a device needs: at most `memory_bytes` if a solution that fits is found. needed: [stages]
 * bytes that each stage needs alone; stays as it is where a stage fits however it is sharded, or
 * its pins cannot be met.
 * Scratch data and a copy of the model go to `arena`. */
double mw_stage_check(MwArena *arena, const MwStageCheckRequest *request, double *needed);

#endif
