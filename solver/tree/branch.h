/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch and bound on a core: proves its best choice, or a better bound. For cores whose search
 * nodes are quickly bounded: some hundred nodes. */
#ifndef MW_SOLVER_TREE_BRANCH_H
#define MW_SOLVER_TREE_BRANCH_H

#include "solver/bound/ascent.h"

typedef struct {
    MwCost bound;  /* no choice of the core costs less, or none less than `best` asks for */
    bool complete; /* the best choice is `best`, or there is none below what that asked for */
    int nodes;     /* of the search tree that were looked at, */
    int64_t work;  /* and what that took: entries of tables times how often each was visited */
} MwBranchAnswer;

typedef struct {
    int nodes;    /* of the search tree, at most */
    int64_t work; /* likewise, in the units of the answer; 0: no limit */
    int threads;  /* at least 1 */
    size_t bytes; /* of cores of the tree, above which it grows deep instead of wide; 0: 256 MB */
    MwStop stop;
    /* Called by the coordinating thread when the bound or the best choice is better than before;
     * false ends the search. NULL: never. */
    bool (*report)(void *context, MwCost bound, const MwCoreBest *best);
    void *context;
} MwBranchLimits;

/* Looks for choices of `core` that cost less than `best` does, which they replace (in `arena`), and
 * proves what it can. The core is not changed. Its prices are where those of the search begin.
 * Deterministic for a number of threads, where time does not cut it short. */
MwBranchAnswer mw_branch(MwArena *arena, const MwCore *core, MwCoreBest *best,
                         const MwBranchLimits *limits);

#endif
