/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of the intervals of a stage problem: answers, or bounds of them until asked.
 *
 * An *entry* is a class of intervals on a sub-mesh; an *option* of it is a candidate in the terms
 * of the objective; a *move* is an interval on a sub-mesh, as the dynamic program walks them. */
#ifndef MW_SOLVER_STAGES_TABLE_H
#define MW_SOLVER_STAGES_TABLE_H

#include "solver/cost.h"
#include "solver/stages/problem.h"

enum { MW_FREE = -1, MW_CONFLICT = -2 };

typedef struct {
    int64_t fill, steady, step;       /* ps of a step, as in problem.h */
    int64_t fixed_bytes, saved_bytes; /* fixed: kept and peak */
    int64_t most_in_flight;           /* that fit the memory; -1: not even none */
    int candidate;                    /* -1: the bound of an entry not asked yet */
} MwStageOption;

typedef struct {
    int begin, end, submesh; /* the question: the first interval of the class */
    bool used, asked;        /* used: there is a move of it */
    int option_count;        /* none of which another dominates */
    MwStageOption *options;  /* by rising fill, equal ones by candidate */
    MwStageCandidate *candidates;
} MwStageEntry;

typedef struct {
    int end, submesh;
    int entry;
    int stage; /* that its layers are pinned to; MW_FREE; MW_CONFLICT: to different ones */
} MwStageMove;

typedef struct {
    MwArena *arena;
    const MwStageProblem *problem;
    MwSubmeshPacking packing;
    int device_count;
    int entry_count;
    MwStageEntry *entries; /* [class][submesh] */
    int *first_move;       /* [layer_count + 1]: moves from layer l on are first_move[l] up to
                              first_move[l + 1] */
    MwStageMove *moves;    /* by begin, end, sub-mesh */
    int asked;
} MwStageTable;

/* Checks the problem's form and takes the bounds; without `bound`, asks everything. */
MwStageTable *mw_stage_table_new(MwArena *arena, const MwStageProblem *problem);

/* Asks the entries in `entries` that were not asked yet; whether there was one. */
bool mw_stage_table_ask(MwStageTable *table, const int *entries, int count);

/* fixed + in_flight * saved, at most INT64_MAX. */
int64_t mw_stage_option_bytes(const MwStageOption *option, int64_t in_flight);

#endif
