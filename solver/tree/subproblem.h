/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The subproblem at one node of the branch-and-bound tree. */
#ifndef MW_SOLVER_TREE_SUBPROBLEM_H
#define MW_SOLVER_TREE_SUBPROBLEM_H

#include "solver/bound/ascent.h"
#include "solver/tree/split.h"

typedef struct {
    const MwCore *root; /* the core whose choices are searched */
    const MwCore *from; /* the core of the parent */
    int node;           /* restricted to `keep`, strategies of it in `from`; -1: no restriction */
    const MwTable *keep;
    MwCost cutoff; /* only choices that cost less are of interest */
    MwStop stop;
} MwSubproblem;

typedef struct {
    MwCost bound; /* no choice of the subproblem that costs less than the cutoff costs less than
                     this */
    MwCore *core; /* what is left, a copy of `from`; NULL: nothing is left below the cutoff or
                     `best` */
    /* The branching, if one was chosen; node -1: the core is too large, or time is up. */
    MwSplit split;
    int64_t work;     /* entries of tables times the number of their visits */
    MwIncumbent best; /* the best choice of the root below the cutoff that was found */
} MwSubproblemAnswer;

/* Bounds the subproblem. `arena` serves this call alone. */
MwSubproblemAnswer mw_subproblem_solve(MwArena *arena, const MwSubproblem *subproblem);

#endif
