/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SPMD program of one mesh: the global graph rewritten to local shapes, with the collectives
 * and slices that resharding needs as nodes of their own. All devices of the mesh run it. */
#ifndef MW_PASSES_SHARDING_PARTITION_H
#define MW_PASSES_SHARDING_PARTITION_H

#include "passes/compilation.h"

struct MwSharding;

/* Rewrites the graph of `sharding` (passes/sharding/result.h) to local shapes; in `arena`. */
MwLocalGraph *mw_partition(MwArena *arena, const struct MwSharding *sharding);

#endif
