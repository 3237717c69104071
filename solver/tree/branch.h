/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branch and bound on a core: proves that a choice is optimal, or proves a better bound. It suits
 * cores of some hundred nodes, whose subproblems are bounded quickly. */
#ifndef MW_SOLVER_TREE_BRANCH_H
#define MW_SOLVER_TREE_BRANCH_H

#include "solver/bound/ascent.h"

typedef struct {
    MwCost bound;  /* no choice that costs less than the incumbent costs less than this */
    bool complete; /* proven: the incumbent is optimal, or no choice costs less than the cutoff */
    int nodes;     /* nodes of the search tree that were visited */
    int64_t work;  /* entries of tables times the number of their visits */
} MwBranchAnswer;

typedef struct {
    int nodes;    /* greatest number of nodes of the search tree */
    int64_t work; /* greatest work, in the units of the answer; 0: no limit */
    int threads;  /* at least 1 */
    size_t bytes; /* memory for cores of the tree, above which the search goes depth first; 0:
                     256 MB */
    MwStop stop;
    /* Called by the coordinating thread for each better bound or incumbent; false ends the search.
     * NULL: never called. */
    bool (*report)(void *context, MwCost bound, const MwIncumbent *incumbent);
    void *context;
} MwBranchLimits;

/* Searches for choices of `core` that cost less than the incumbent, replaces the incumbent by them
 * (in `arena`), and proves a bound. The core does not change; its prices are the first prices of
 * the search. Deterministic for a number of threads, unless time cuts the search short. */
MwBranchAnswer mw_branch(MwArena *arena, const MwCore *core, MwIncumbent *incumbent,
                         const MwBranchLimits *limits);

#endif
