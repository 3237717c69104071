/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Priority queue of nodes to eliminate: the node whose elimination makes the smallest table comes
 * first; of equal ones, that of lowest index (the min-size heuristic for elimination orders). */
#ifndef MW_SOLVER_REDUCE_CANDIDATES_H
#define MW_SOLVER_REDUCE_CANDIDATES_H

#include "base/vec.h"

typedef struct {
    double entries; /* of the table that eliminating `node` makes */
    int node;
} MwCandidate;

/* A binary heap with the least candidate first. A node is pushed again when its number of
 * entries changes; the older candidate is then stale, and the caller of mw_candidates_pop
 * checks for that. */
typedef MW_VEC(MwCandidate) MwCandidates;

void mw_candidates_push(MwArena *arena, MwCandidates *candidates, MwCandidate candidate);
/* Removes and returns the first candidate; the queue must not be empty. */
MwCandidate mw_candidates_pop(MwCandidates *candidates);

#endif
