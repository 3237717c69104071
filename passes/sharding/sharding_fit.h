/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sharding that fits the memory. */
#ifndef MW_PASSES_SHARDING_SHARDING_FIT_H
#define MW_PASSES_SHARDING_SHARDING_FIT_H

#include "passes/sharding/result.h"

typedef struct {
    MwSharding *sharding; /* NULL: none was found */
    MwSolution solution;  /* of the last problem that was solved */
    int64_t needed_bytes; /* of what was found last and did not fit; 0: all did, or nothing was */
    double lower_bound_s; /* of a step, whatever is found */
} MwShardingFit;

/* How the stages that are chosen are solved while they are. */
#define MW_SHARDING_QUICK ((MwSolveOptions){.gap = 0.001, .quick = true})

/* In `arena`. The problem has the limit and the copies that it was last solved with; where the limit
 * had to be lowered for that, it is the memory again. */
MwShardingFit mw_sharding_fit(MwArena *arena, MwIntraProblem *intra, int64_t memory_bytes,
                              MwSolveOptions options);

#endif
