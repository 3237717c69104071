/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pool of candidate moves that may be feasible only together. A move is a group of changes
 * connected by cost functions (assignment.h), as some attempt proposed it. One move may gain and
 * use more than the slack, another may lose and free just that slack in a distant layer; no single
 * attempt sees both. Moves are therefore collected over many attempts, and a knapsack solver
 * selects among all of them (knapsack.h).
 *
 * Invariant: a move is a set of changes, independent of the assignment. Its gain and usage are
 * recomputed for the assignment that it is packed for. */
#ifndef MW_SOLVER_IMPROVE_POOL_H
#define MW_SOLVER_IMPROVE_POOL_H

#include "solver/improve/assignment.h"
#include "solver/stop.h"

typedef struct MwPool MwPool;

MwPool *mw_pool_new(MwArena *arena, const MwFlatCore *flat);
void mw_pool_free(MwPool *pool);

/* Adds the groups of the changes ([count], of distinct nodes) that were proposed for `assignment`
 * to the pool. */
void mw_pool_add(MwPool *pool, const MwAssignment *assignment, int count, const MwChange *changes);

typedef struct {
    int threads;
    uint64_t seed;
    MwStop stop;
} MwPoolLimits;

typedef struct {
    MwMove move;  /* count 0: nothing better was found */
    int64_t work; /* in the units of MwAttempt.work */
} MwPoolPacked;

/* Selects moves that together lower the cost of `assignment` and keep the rows. Removes from the
 * pool moves that are useless there; if too many are left, those of least gain at the prices whose
 * prefix sums are `price_sum` ([row_count + 1]). The move is in `arena`. */
MwPoolPacked mw_pool_pack(MwArena *arena, MwPool *pool, const MwAssignment *assignment,
                          const double *price_sum, const MwPoolLimits *limits);

#endif
