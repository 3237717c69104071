/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One dynamic program over suffixes of the layers: the cuts into stages with the least `fill`, or
 * the least memory, within given limits. */
#ifndef MW_SOLVER_STAGES_DP_PASS_H
#define MW_SOLVER_STAGES_DP_PASS_H

#include "solver/stages/table.h"

/* The cuts that a pass considers. */
typedef struct {
    int least_stages, most_stages; /* equal if layers are pinned or in_flight depends on the
                                      number of stages */
    int submesh;                   /* sub-mesh of all stages; -1: any */
    int64_t fill, steady, step;    /* greatest values, all below MW_FORBIDDEN */
    bool ignore_pins;              /* ignore the pins of layers */
    bool ignore_answers;           /* every interval can run, at no cost */
    bool asked_only;               /* no entry counts with its bound */
    /* Minimise the greatest memory of a stage instead of `fill`; ignore all limits but pins. */
    bool least_bytes;
} MwStageLimits;

typedef struct {
    int begin, end, submesh, entry;
    const MwStageOption *option;
    int64_t in_flight;
} MwStageStep;

typedef struct {
    int stage_count;
    MwStageStep *stages;        /* in the memory of the pass, valid until its next run */
    int64_t value;              /* the minimum that the pass found */
    int64_t fill, steady, step; /* recomputed from the stages */
} MwStagePath;

typedef struct MwStagePass MwStagePass;

/* Allocates the memory for runs on `table`, in `arena`. */
MwStagePass *mw_stage_pass_new(MwArena *arena, const MwStageTable *table);

/* Finds the best cut within the limits; entries that were not asked count with their bounds,
 * unless `asked_only`.
 * Returns false if there is none. Ties break by fewest stages, then, first stage first, by least
 * end, sub-mesh and option. */
bool mw_stage_pass_run(MwStagePass *pass, const MwStageLimits *limits, MwStagePath *path);

/* Gives, after a run that found a cut (not with least_bytes), for each entry that was not asked yet
 * the least value of a cut that contains it; MW_FORBIDDEN if there is none. `least` is
 * [entry_count]. */
void mw_stage_pass_least_with(MwStagePass *pass, int64_t *least);

#endif
