/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solution of the stage problem. */
#ifndef MW_SOLVER_STAGES_STAGES_H
#define MW_SOLVER_STAGES_STAGES_H

#include "solver/stages/problem.h"

#include <stdio.h>

typedef struct {
    double gap; /* stop when total - lower_bound is at most this share of total; 0: exact */
    FILE *log;  /* a line per step of the search; NULL: none */
} MwStageOptions;

typedef struct {
    int begin, end; /* layers */
    int submesh;
    int candidate;         /* index in the answer */
    MwStageCandidate cost; /* that candidate */
    int first_device;      /* its devices are consecutive; parts of a node do not leave it */
    int64_t in_flight;
    int64_t bytes; /* kept + in_flight * saved + peak */
} MwStageChoice;

typedef struct {
    MwStageReason reason;
    int stage_count;       /* 0 unless POSSIBLE */
    MwStageChoice *stages; /* in order; this and all below are in the arena given */
    int64_t total, fill, steady, step;
    int64_t lower_bound;  /* proven; equals total with gap 0 */
    int64_t needed_bytes; /* MEMORY: the least per device with which there would be an answer */
    int asked, passes;    /* questions, dynamic programs solved */
} MwStagePlan;

/* Deterministic: the same answers and bounds give the same plan. Ties in a dynamic program break by
 * fewest stages, then, first stage first, least end, sub-mesh, candidate. `options` may be NULL. */
MwStagePlan mw_stages_solve(MwArena *arena, const MwStageProblem *problem,
                            const MwStageOptions *options);

#endif
