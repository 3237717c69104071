/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One node of the branch and bound tree. */
#ifndef MW_SOLVER_TREE_SUBPROBLEM_H
#define MW_SOLVER_TREE_SUBPROBLEM_H

#include "solver/bound/ascent.h"
#include "solver/tree/split.h"

typedef struct {
    const MwCore *root; /* what choices are of */
    const MwCore *from; /* the core of the node above */
    int node;           /* held to `keep` of its strategies in `from`; -1: nothing is held */
    const MwTable *keep;
    MwCost cutoff; /* only choices that cost less are of interest */
    MwStop stop;
} MwSubproblem;

typedef struct {
    MwCost bound; /* no choice of it that costs less than the cutoff costs less than this */
    MwCore *core; /* what is left, a copy of `from`; NULL: nothing below the cutoff or `best` */
    MwSplit
        split;    /* how to go on, if that was asked for; node -1: it is too large, or time is up */
    int64_t work; /* entries of tables times visits */
    MwCoreBest best; /* the best choice below the cutoff that was found, of the root */
} MwSubanswer;

/* In `arena`, which it has for itself. */
MwSubanswer mw_subproblem_solve(MwArena *arena, const MwSubproblem *subproblem);

#endif
