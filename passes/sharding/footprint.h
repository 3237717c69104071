/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much memory a sharding needs, the copies that resharding makes included. */
#ifndef MW_PASSES_SHARDING_FOOTPRINT_H
#define MW_PASSES_SHARDING_FOOTPRINT_H

#include "passes/sharding/result.h"

/* [nodes] An estimate of the bytes that a device needs while each node runs: the usage of the problem
 * and what resharding adds to it. What is true is known when buffers are assigned. In `arena`. */
int64_t *mw_sharding_usage(MwArena *arena, const MwSharding *sharding);
/* The greatest of these. */
int64_t mw_sharding_peak(const MwSharding *sharding);

#endif
