/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Minimum cuts: the arcs of least weight without which no path leads from a source to a sink. */
#ifndef MW_SOLVER_CUT_H
#define MW_SOLVER_CUT_H

#include "base/arena.h"
#include "base/vec.h"

typedef struct {
    int from, to;  /* vertices, from 0 */
    double weight; /* at least 0; infinite: never cut */
} MwCutArc;

typedef MW_VEC(MwCutArc) MwCutArcs;

/* Returns for each of `vertices` vertices whether it is on the side of `sink` in a minimum cut; of
 * several, in the one in which that side is greatest. In `arena`. There must be a cut of finite
 * weight. Weights count to one part in 2^30 of their sum. GLPK's method of Ford and Fulkerson takes
 * shortest paths first, so that time is at most in proportion to vertices times arcs squared. */
bool *mw_min_cut(MwArena *arena, const MwCutArcs *arcs, int vertices, int source, int sink);

#endif
