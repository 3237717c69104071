/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sharding rule of a node, in factors (the term of Shardy; a generalisation of einsum
 * letters).
 *
 * A factor is a loop dimension of the operator. Each dimension of each operand and result runs
 * over at most one splittable factor, or over several in a row, whose sizes it is the product of;
 * splitting a factor over mesh axes splits every dimension that runs over it. A factor that a
 * result lacks is reduced there as `combine` says, so splitting it leaves that result partial.
 * Strategies, local shapes, FLOPs, the collectives that complete a result, and the SPMD rewriting
 * follow from this rule. */
#ifndef MW_IR_SHARDING_FACTORS_H
#define MW_IR_SHARDING_FACTORS_H

#include "base/tensor.h"

enum { MW_MAX_FACTORS = 16 };

typedef enum {
    MW_FACTOR_SPLITTABLE, /* pass-through in a result that has it, reduction in one that lacks it */
    MW_FACTOR_WINDOWS,    /* the same, but a device works on more than its block of one tensor, and
                             neighbours exchange what that is (MwWindowReach, ir/windows.h) */
    MW_FACTOR_FIXED,      /* need-replication: may not be split here */
} MwFactorKind;

typedef struct {
    MwFactorKind kind;
    /* The number of ways that a factor is split must divide `divisor`, which divides every
     * dimension that runs over the factor. For most factors it is the size; for reshape and
     * grouped heads it is smaller; for a fixed factor it is 1. */
    int64_t divisor;
    int64_t most; /* ways that a factor of windows is split at most */
    /* Some dimension runs over the factor before and this one, the less significant. It is then cut
     * into blocks of the factor before first: this one may be split only if the one before is split
     * into single iterations, and only over higher mesh axes than that. */
    bool follows;
    /* Iterations of the loop. It is 1 for a looked-up dimension (the entries of an embedding
     * table), because splitting it saves memory but no work. */
    int64_t size;
} MwFactor;

typedef struct {
    /* [dimension] factor that it runs over; -1: none that may be split. If `last` is greater, it
     * runs over all factors from the one, the most significant, to the other. */
    int8_t factor[MW_MAX_RANK], last[MW_MAX_RANK];
} MwFactorMap;

/* Whether dimension `d` runs over `factor`. */
static inline bool mw_factor_map_has(const MwFactorMap *map, int d, int factor)
{
    return factor >= 0 && map->factor[d] <= factor && factor <= map->last[d];
}

typedef struct {
    int factor_count;
    MwFactor factors[MW_MAX_FACTORS];
    MwFactorMap *operands; /* [operand_count], in the arena */
    MwFactorMap *results;  /* [result_count] */
    /* The result that is the log-sum-exp of the weights by which the other results are means; -1:
     * there is none. Over a split factor that it lacks, the node combines it, and multiplies the
     * others by exp(own - combined), so that their parts are partial sums. Its dimensions are the
     * first of the others, which have one more. This is the softmax in blocks of Dao et al.,
     * FlashAttention, NeurIPS 2022, section 3.1, with a block on each device. */
    int normaliser;
    /* A mesh axis may split both factors, of which no operand or result has both: the blocks of
     * `travels` go round the devices of the axis, each of which stays with its block of `stays`
     * and meets all of them, one after another. -1: there are no such factors. */
    struct {
        int stays, travels;
    } ring;
    /* A factor whose later points are more work than the earlier ones, as the queries of a causal
     * mask are: work is shared evenly where a device has half of its own block and half of that of
     * the device in the mirror. -1: there is none. */
    int uneven;
} MwShardingRule;

#endif
