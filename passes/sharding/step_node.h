/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of steps of resharding, in local graphs. */
#ifndef MW_PASSES_SHARDING_STEP_NODE_H
#define MW_PASSES_SHARDING_STEP_NODE_H

#include "cost/reshard.h"

/* Adds the collective or slice of a step to a local graph, on `x`. Of the step it takes the
 * operator, the axes and dimensions, and how parts combine. The result is named after `name`. */
MwValueId mw_step_node(MwGraph *local, const MwMeshShape *mesh, const MwReshardStep *step,
                       MwValueId x, const char *name);

#endif
