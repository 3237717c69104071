/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best layout of a model over numbers of micro-batches, schedules and numbers of stages. */
#ifndef MW_PASSES_STAGES_TRIALS_H
#define MW_PASSES_STAGES_TRIALS_H

#include "passes/stages/trials_query.h"

/* The result lies in the compilation's arena. */
MwStageTrials mw_stage_trials(const MwStageTrialsQuery *query);

#endif
