/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One stage on all devices, as layouts of a search. */
#ifndef MW_PASSES_STAGES_SINGLE_H
#define MW_PASSES_STAGES_SINGLE_H

#include "passes/stages/tries.h"

/* Tries it with up to `most` more numbers of micro-batches, from index `next` on, for which memory
 * may suffice. */
void mw_stage_try_single(MwStageTries *t, int *next, int most);

/* Tries it with one number of micro-batches. */
void mw_stage_try_one(MwStageTries *t, MwStageBatching *batching);

/* Whether it may be better than the incumbent with so many micro-batches, as far as what was tried
 * tells. */
bool mw_stage_one_is_promising(const MwStageTries *t, int micro_batches);

#endif
