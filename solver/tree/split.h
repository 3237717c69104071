/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where to divide a core in two. */
#ifndef MW_SOLVER_TREE_SPLIT_H
#define MW_SOLVER_TREE_SPLIT_H

#include "solver/bound/dual.h"
#include "solver/stop.h"
#include "solver/tuning.h"

typedef struct {
    int node;
    const MwTable *half[2]; /* its strategies divided, each ascending; what promises more first */
    MwCost bound[2];        /* no choice of a part costs less */
} MwSplit;

/* How often that visits the entries of the core, at most: two halves each of so many candidates
 * of two rankings, for so many iterations. */
#define MW_SPLIT_VISITS (4 * MW_TUNED_SPLIT_TRIED * MW_TUNED_SPLIT_ITERATIONS)

/* Chooses a split of the reduced core, of which only what costs less than `cutoff` is of interest.
 * What it holds belongs to the core's tables. Node -1: the core has no node of two strategies. */
MwSplit mw_split_choose(const MwCore *core, MwCost cutoff, const MwStop *stop);

#endif
