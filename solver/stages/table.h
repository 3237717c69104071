/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known about the intervals of a stage problem: the caller's answers, or bounds on them.
 *
 * An *entry* is a class of intervals on a sub-mesh. An *option* of an entry is a candidate in the
 * terms of the objective. A *move* is an interval on a sub-mesh, as the dynamic program visits
 * them. Moves grow with the square of the layers times the sub-meshes, entries with the classes of
 * intervals times the sub-meshes. */
#ifndef MW_SOLVER_STAGES_TABLE_H
#define MW_SOLVER_STAGES_TABLE_H

#include "solver/cost.h"
#include "solver/stages/problem.h"

enum { MW_FREE = -1, MW_CONFLICT = -2 };

typedef struct {
    int64_t fill, steady, step;       /* ps of a step, as in problem.h */
    int64_t fixed_bytes, saved_bytes; /* fixed: kept and peak bytes */
    int64_t most_in_flight; /* micro-batches in flight that fit the memory; -1: not even none */
    int candidate; /* index of the candidate; -1: the bound of an entry that was not asked yet */
} MwStageOption;

typedef struct {
    int begin, end, submesh; /* the question: the first interval of the class */
    bool used, asked;        /* used: a move has this entry */
    int option_count;        /* options that no other dominates */
    MwStageOption *options;  /* in order of rising fill, equal ones by candidate */
    MwStageCandidate *candidates;
} MwStageEntry;

typedef struct {
    int end, submesh;
    int entry;
    int stage; /* stage that its layers are pinned to; MW_FREE; MW_CONFLICT: pinned to different
                  stages */
} MwStageMove;

typedef struct {
    MwArena *arena;
    const MwStageProblem *problem;
    MwSubmeshPacking packing;
    int device_count;
    int entry_count;
    MwStageEntry *entries; /* [class][submesh] */
    int *first_move;    /* [layer_count + 1] moves from layer l on have the indices first_move[l] to
                           first_move[l + 1] - 1 */
    MwStageMove *moves; /* ordered by begin, end, sub-mesh */
    /* number of entries asked */
    int asked;
} MwStageTable;

/* Checks the form of the problem and reads the bounds. If the problem has no `bound`, asks
 * everything. */
MwStageTable *mw_stage_table_new(MwArena *arena, const MwStageProblem *problem);

/* Asks those of `entries` that were not asked yet. Returns whether there was one. */
bool mw_stage_table_ask(MwStageTable *table, const int *entries, int count);

/* Returns fixed_bytes + in_flight * saved_bytes, at most INT64_MAX. */
int64_t mw_stage_option_bytes(const MwStageOption *option, int64_t in_flight);

#endif
