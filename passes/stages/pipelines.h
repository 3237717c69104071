/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipelines over numbers of micro-batches, schedules and numbers of stages, as layouts of a
 * search. */
#ifndef MW_PASSES_STAGES_PIPELINES_H
#define MW_PASSES_STAGES_PIPELINES_H

#include "passes/stages/tries.h"

/* Tries pipelines: the schedule of turn 1 with each number of micro-batches; then the other
 * schedules that are not late. Where probes rank pipelines, one stage is tried among them. */
void mw_stage_try_pipelines(MwStageTries *t);

/* Tries the late schedules with the numbers of micro-batches that the others were tried with. */
void mw_stage_try_late(MwStageTries *t);

/* Tries the best layout with other numbers of stages, to report what they would take: all
 * numbers if there are few, else half and twice as many; on many devices of stages that are solved
 * already. */
void mw_stage_try_other_counts(MwStageTries *t);

/* Adds what was tried to what searches before the next one tried. */
void mw_stage_note_tried(MwStageTries *t);

#endif
