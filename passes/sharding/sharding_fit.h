/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sharding that fits the memory. */
#ifndef MW_PASSES_SHARDING_SHARDING_FIT_H
#define MW_PASSES_SHARDING_SHARDING_FIT_H

#include "passes/sharding/result.h"
#include "passes/tuning.h"

typedef struct {
    MwSharding *sharding; /* NULL: none was found */
    MwSolution solution;  /* of the last problem that was solved */
    int64_t needed_bytes; /* peak of the last sharding that did not fit; 0: there was none */
    double lower_bound_s; /* proven lower bound of a step within the whole memory */
    int64_t entries;      /* work of all solves (solver/stop.h) */
} MwShardingFit;

/* Options for a solve that ends by itself once its choice is not far from its bound. */
#define MW_SHARDING_NEAR ((MwSolveOptions){.gap = MW_TUNED_FAR_GAP, .quick = true})

/* The best sharding found whose peak is within `memory_bytes`; in `arena`. Afterwards the
 * problem has the copies that it was last solved with, and `memory_bytes` as its limit. */
MwShardingFit mw_sharding_fit(MwArena *arena, MwIntraProblem *intra, int64_t memory_bytes,
                              MwSolveOptions options);

#endif
