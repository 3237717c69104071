/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One dynamic program over suffixes: the least `fill` (or the least memory) of the cuts within
 * given limits. */
#ifndef MW_SOLVER_STAGES_DP_PASS_H
#define MW_SOLVER_STAGES_DP_PASS_H

#include "solver/stages/table.h"

/* Which cuts are looked at. */
typedef struct {
    int least_stages, most_stages; /* equal if layers are pinned or in_flight goes by stages */
    int submesh;                   /* of all stages; -1: any */
    int64_t fill, steady, step;    /* at most, all below MW_FORBIDDEN */
    bool ignore_pins;              /* of layers */
    bool ignore_answers;           /* every interval can be run, at no cost */
    /* Least is the greatest memory of a stage instead of `fill`; all else but pins is unlimited. */
    bool least_bytes;
} MwStageLimits;

typedef struct {
    int begin, end, submesh, entry;
    const MwStageOption *option;
    int64_t in_flight;
} MwStageStep;

typedef struct {
    int stage_count;
    MwStageStep *stages;        /* in the pass's memory, until its next run */
    int64_t value;              /* what was least */
    int64_t fill, steady, step; /* as they come out */
} MwStagePath;

typedef struct MwStagePass MwStagePass;

/* Memory for runs on `table`, in `arena`. */
MwStagePass *mw_stage_pass_new(MwArena *arena, const MwStageTable *table);

/* Finds the least cut within the limits, with bounds for what was not asked; false: there is none.
 * Ties: fewest stages, then, first stage first, least end, sub-mesh, option. */
bool mw_stage_pass_run(MwStagePass *pass, const MwStageLimits *limits, MwStagePath *path);

/* After a run that found a cut (not of least bytes): for each entry not asked yet, the least value
 * of a cut that has it; MW_FORBIDDEN if there is none. `least` is [entry_count]. */
void mw_stage_pass_through(MwStagePass *pass, int64_t *least);

#endif
