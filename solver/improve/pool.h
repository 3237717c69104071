/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moves that may fit only together. A move is a group of changes that hang together by cost
 * functions (assignment.h): what one attempt or another wished for. One that gains may use more than
 * there is room for, another lose and give just that room, in a layer far away; no attempt sees
 * both. So moves are collected over many attempts and chosen from together (knapsack.h).
 *
 * Invariant: the moves are sets of changes, whatever the choice; what they gain and use is found
 * anew for the choice that they are packed for. */
#ifndef MW_SOLVER_IMPROVE_POOL_H
#define MW_SOLVER_IMPROVE_POOL_H

#include "solver/improve/assignment.h"
#include "solver/stop.h"

typedef struct MwPool MwPool;

MwPool *mw_pool_new(MwArena *arena, const MwFlatCore *flat);
void mw_pool_free(MwPool *pool);

/* Puts the groups of the changes ([count], of distinct nodes) that are wished for in `assignment`
 * into the pool. */
void mw_pool_add(MwPool *pool, const MwAssignment *assignment, int count, const MwChange *changes);

typedef struct {
    int threads;
    uint64_t seed;
    MwStop stop;
} MwPoolLimits;

typedef struct {
    MwMove move;  /* count 0: nothing better was found */
    int64_t work; /* as of attempts */
} MwPoolPacked;

/* Moves that together lower the cost of `assignment` and keep the rows. Drops from the pool what is
 * of no use there, and, where they are too many, those that gain least at the prices whose sums
 * over the rows before are `price_sum` ([row_count + 1]). The exchange lies in `arena`. */
MwPoolPacked mw_pool_pack(MwArena *arena, MwPool *pool, const MwAssignment *assignment,
                          const double *price_sum, const MwPoolLimits *limits);

#endif
