/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that a sharding needs, with the copies that resharding makes. */
#ifndef MW_PASSES_SHARDING_FOOTPRINT_H
#define MW_PASSES_SHARDING_FOOTPRINT_H

#include "passes/sharding/result.h"

/* [nodes] bytes that a device needs while each node runs: the usage of the problem and the
 * copies of resharding. An estimate, because buffers are assigned later. In `arena`. */
int64_t *mw_sharding_usage(MwArena *arena, const MwSharding *sharding);
/* The largest element of mw_sharding_usage. */
int64_t mw_sharding_peak(const MwSharding *sharding);
/* An upper bound of mw_sharding_peak over all choices of strategies. */
int64_t mw_sharding_most(const MwIntraProblem *problem);

#endif
