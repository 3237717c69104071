/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small random stage problems of every awkward kind, and their answers by enumeration. */
#ifndef MW_TESTS_SOLVER_RANDOM_STAGES_H
#define MW_TESTS_SOLVER_RANDOM_STAGES_H

#include "solver/stages/stages.h"

typedef struct {
    int layers, nodes, devices_per_node, candidates; /* the most there may be */
    int none_percent;                                /* intervals without candidates */
    int64_t greatest_time, greatest_cut;             /* of a stage, of a transfer */
    int64_t micro_batches;                           /* the most there may be */
    bool limited, pinned, bounded, classes; /* memory, pins, a bound callback, interval classes */
} StageKind;

/* The answers to all questions, and what was asked. */
typedef struct {
    MwStageProblem problem; /* its context is this struct */
    MwStageSubmesh submeshes[32];
    int submesh_count;
    int *count;                   /* [class][submesh] */
    MwStageCandidate **candidate; /* likewise */
    int *questions;               /* likewise: how often it was asked */
    int asked;                    /* the sum of these */
    int patience;                 /* with random_stages_tire: what may be asked in good time */
} RandomStages;

/* The same seed gives the same problem. */
RandomStages *random_stages(MwArena *arena, const StageKind *kind, uint64_t seed);

/* The time for answers is spent after `patience` questions; half of the answers take none. */
void random_stages_tire(RandomStages *stages, int patience);

int stage_class(const MwStageProblem *problem, int begin, int end);

/* What to enumerate: all cuts of the problem, or of it without pins or answers. */
typedef struct {
    bool ignore_pins, ignore_answers;
} StageFilter;

typedef struct {
    bool possible;        /* within the memory */
    int64_t total;        /* if possible */
    bool fits_some;       /* with any memory */
    int64_t needed_bytes; /* if fits_some */
} EnumeratedStages;

EnumeratedStages enumerate_stages(const RandomStages *stages, StageFilter filter);

/* The total of a cut, from the definitions in solver/stages/problem.h. */
int64_t stages_total(const MwStageProblem *problem, const MwStageChoice *stages, int count);

/* Whether parts of nodes and whole nodes can be laid out in the cluster, by trying. */
bool lies_in(MwStageCluster cluster, const MwStageSubmesh *submeshes, int count);

#endif
