/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The collectives that a node has within it by its strategy (borders.h, ring.h, mirror.h), as a
 * path for the report. The steps have no specs. */
#ifndef MW_PASSES_SHARDING_STEPS_H
#define MW_PASSES_SHARDING_STEPS_H

#include "base/vec.h"
#include "cost/reshard.h"

typedef struct {
    MwArena *arena;
    const MwCostModel *model;
    MW_VEC(MwReshardStep) at;
} MwSteps;

/* Adds a collective of `bytes`, as mw_cost_collective_s counts them. `dim` is that of
 * MwReshardStep. */
void mw_steps_add(MwSteps *steps, MwOp op, int axis, int dim, int64_t bytes);
/* Takes from the steps from `first` on, which run while the device works for `seconds`, what the
 * work hides. */
void mw_steps_hide(MwSteps *steps, int first, double seconds);
MwReshardPath mw_steps_path(const MwSteps *steps);

#endif
