/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which node to eliminate next: the one whose table is smallest, of equals that of lowest index. */
#ifndef MW_SOLVER_REDUCE_CANDIDATES_H
#define MW_SOLVER_REDUCE_CANDIDATES_H

#include "base/vec.h"

typedef struct {
    double entries; /* of the table that eliminating `node` makes */
    int node;
} MwCandidate;

/* A heap, the least first. A node is pushed again when its entries change; what was pushed before
 * is then out of date, which whoever takes it has to see. */
typedef MW_VEC(MwCandidate) MwCandidates;

void mw_candidates_push(MwArena *arena, MwCandidates *candidates, MwCandidate candidate);
/* Takes the first of at least one. */
MwCandidate mw_candidates_pop(MwCandidates *candidates);

#endif
