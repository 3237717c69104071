/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search over the greatest stage time and the greatest step time, and the reasons when it finds
 * nothing. */
#ifndef MW_SOLVER_STAGES_SEARCH_H
#define MW_SOLVER_STAGES_SEARCH_H

#include "solver/stages/dp_pass.h"

#include <stdio.h>

typedef struct {
    MwArena *arena; /* for the search and its answer */
    MwStageTable *table;
    MwStagePass *pass;
    int least_stages, most_stages, submesh; /* submesh -1: any */
    double gap;
    FILE *log; /* may be NULL */

    bool found;
    MwStagePath best; /* if found */
    int64_t total;    /* likewise */
    int64_t lower_bound;
    int passes;
} MwStageSearch;

/* Finds the least total in the range of stages, to within `gap`. */
void mw_stage_search_run(MwStageSearch *search);

/* Why a search found nothing; the bytes that are needed, or 0, go to `needed_bytes`. */
MwStageReason mw_stage_search_explain(MwStageSearch *search, int64_t *needed_bytes);

#endif
