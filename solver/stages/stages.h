/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solution of the stage problem. */
#ifndef MW_SOLVER_STAGES_STAGES_H
#define MW_SOLVER_STAGES_STAGES_H

#include "solver/stages/problem.h"

#include <stdio.h>

typedef struct {
    double gap; /* stop when (total - lower_bound) / total is at most this; 0: exact */
    FILE *log;  /* receives a line per step of the search; NULL: no log */
} MwStageOptions;

typedef struct {
    int begin, end; /* layers [begin, end) */
    int submesh;
    int candidate;         /* index of the candidate in the answer */
    MwStageCandidate cost; /* that candidate */
    int first_device; /* its devices are consecutive; a fraction of a node does not cross nodes */
    int64_t in_flight;
    int64_t bytes; /* kept + in_flight * saved + peak bytes */
} MwStageChoice;

typedef struct {
    MwStageReason reason;
    int stage_count;       /* 0 unless MW_STAGES_POSSIBLE */
    MwStageChoice *stages; /* in order; in the arena given */
    int64_t total, fill, steady, step;
    int64_t lower_bound;  /* proven; equals total if gap is 0 and not `is_spent` */
    bool is_spent;        /* the search ended early, because the time for answers was spent */
    int64_t needed_bytes; /* MW_STAGES_MEMORY: least bytes per device with which a solution would
                             exist */
    int asked, passes;    /* number of questions asked, and of dynamic programs solved */
} MwStagePlan;

/* Solves the stage problem. Deterministic: the same answers and bounds give the same plan. Ties in
 * a dynamic program break by fewest stages, then, first stage first, by least end, sub-mesh and
 * candidate. `options` may be NULL. */
MwStagePlan mw_stages_solve(MwArena *arena, const MwStageProblem *problem,
                            const MwStageOptions *options);

#endif
