/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best cut of a model into two or more stages, for one number of micro-batches and one
 * schedule. */
#ifndef MW_PASSES_STAGES_CHOICE_H
#define MW_PASSES_STAGES_CHOICE_H

#include "passes/stages/choice_query.h"

/* The answer lies in `arena`. */
MwStageChoiceAnswer mw_stage_choice(MwArena *arena, const MwStageChoiceQuery *query);

/* Devices of each mesh if `meshes` equal meshes fill the cluster; 0: they cannot. */
int mw_stage_equal_devices(MwStageCluster cluster, int meshes);

#endif
