/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_TREE_WIDEN_H
#define MW_SOLVER_TREE_WIDEN_H

#include "solver/tree/branch.h"

/* As mw_branch, for when `best` may be far from the best: looks just above the bound first, and
 * then further. The limits are for all together. */
MwBranchAnswer mw_widen(MwArena *arena, const MwCore *core, MwCoreBest *best,
                        const MwBranchLimits *limits);

#endif
