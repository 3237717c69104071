/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of a branching: the node of a core and the two sets of strategies to branch on. */
#ifndef MW_SOLVER_TREE_SPLIT_H
#define MW_SOLVER_TREE_SPLIT_H

#include "solver/bound/dual.h"
#include "solver/stop.h"
#include "solver/tuning.h"

typedef struct {
    int node;
    const MwTable *set[2]; /* its strategies in two sets, each ascending; the more promising set
                              first */
    MwCost bound[2];       /* lower bounds of the two children */
} MwSplit;

/* Upper bound on the visits of each entry by a call: two children, for each candidate tried of two
 * rankings, for each iteration. */
#define MW_SPLIT_VISITS (4 * MW_TUNED_SPLIT_TRIED * MW_TUNED_SPLIT_ITERATIONS)

/* Chooses a branching of the reduced core; only choices that cost less than `cutoff` are of
 * interest. The result belongs to the core's tables. Node -1: no node of the core has two
 * strategies. */
MwSplit mw_split_choose(const MwCore *core, MwCost cutoff, const MwStop *stop);

#endif
