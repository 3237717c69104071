/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a layout that was reckoned from estimates has the memory it was said to need. */
#ifndef MW_PASSES_STAGE_CHECK_H
#define MW_PASSES_STAGE_CHECK_H

#include "passes/stage_layout.h"

/* The bytes that a device needs for a layout when its stages are not estimated but solved, quickly,
 * within `memory_bytes`: no more than these if there is a way. Stages that are estimated to need far
 * less are taken to be right. */
double mw_stage_check(const MwStageModel *model, const MwStageLayout *layout, double memory_bytes,
                      int threads);

#endif
