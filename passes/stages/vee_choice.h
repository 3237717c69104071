/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best cut of a model for schedules that go down the meshes and up again, two stages on each
 * mesh but the last. */
#ifndef MW_PASSES_STAGES_VEE_CHOICE_H
#define MW_PASSES_STAGES_VEE_CHOICE_H

#include "passes/stages/choice_query.h"

/* As mw_stage_choice, where meshes are two or more, of `devices` devices each. The answer lies in
 * `arena`. */
MwStageChoiceAnswer mw_stage_choice_vee(MwArena *arena, const MwStageChoiceQuery *query,
                                        int devices);

#endif
