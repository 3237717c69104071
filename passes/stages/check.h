/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a layout that was reckoned from estimates has the memory it was said to need. */
#ifndef MW_PASSES_STAGES_CHECK_H
#define MW_PASSES_STAGES_CHECK_H

#include "passes/stages/layout.h"

/* The bytes that a device needs for a layout when its stages are not estimated but solved, quickly, as
 * `sharding` will: no more than `memory_bytes` if there is a way. Stages that are estimated to need far
 * less are taken to be right. needed: [stages] what each needs alone, 0 if it was not solved.
 * `compilation` is as it was before the pass `stages`. */
double mw_stage_check(MwArena *arena, const MwCompilation *compilation, const MwStaging *staging,
                      const MwStageLayout *layout, double memory_bytes, int threads,
                      double *needed);

#endif
