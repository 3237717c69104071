/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The branch and bound over the greatest stage time and the greatest step time, and the reason if
 * it finds nothing. */
#ifndef MW_SOLVER_STAGES_SEARCH_H
#define MW_SOLVER_STAGES_SEARCH_H

#include "solver/stages/dp_pass.h"

#include <stdio.h>

typedef struct {
    MwArena *arena; /* holds the search and its solution */
    MwStageTable *table;
    MwStagePass *pass;
    int least_stages, most_stages, submesh; /* submesh -1: any */
    double gap;
    FILE *log; /* may be NULL */

    bool found;
    MwStagePath incumbent; /* the incumbent, if `found` */
    int64_t total;         /* of the incumbent; until one is found, what the total must be below */
    int64_t lower_bound;
    bool is_spent; /* no entry is asked any more */
    int passes;
    /* mw_stage_work_bound, of sub-mesh `work_submesh` when `work_asked` entries were asked */
    int64_t work_bound;
    int work_submesh, work_asked;
    bool work_spent;
} MwStageSearch;

/* Finds the least total within the range of stages, up to the relative `gap`. */
void mw_stage_search_run(MwStageSearch *search);

/* Returns why a search found nothing. `needed_bytes` gets the bytes that are needed, or 0. */
MwStageReason mw_stage_search_explain(MwStageSearch *search, int64_t *needed_bytes);

#endif
