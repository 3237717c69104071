/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sharding rule of a node, in factors (Shardy's term; einsum letters generalised).
 *
 * A factor is a loop dimension of the operator. Each dimension of each operand and result runs over
 * at most one factor that may be split; splitting a factor over mesh axes splits every dimension
 * that runs over it. A factor that a result does not have is summed away there (or combined as
 * `combine` says), so splitting it leaves that result partial. From this one rule come strategies,
 * local shapes, FLOPs, the collectives that complete a result, and the SPMD rewriting. */
#ifndef MW_IR_SHARDING_FACTORS_H
#define MW_IR_SHARDING_FACTORS_H

#include "base/tensor.h"

enum { MW_MAX_FACTORS = 16 };

typedef enum {
    MW_FACTOR_SPLITTABLE, /* pass-through in a result that has it, reduction in one that lacks it */
    MW_FACTOR_FIXED,      /* need-replication: may not be split here */
} MwFactorKind;

typedef struct {
    MwFactorKind kind;
    /* A split of this factor must divide `divisor`, which divides every dimension that runs over
     * it. For most factors it is the size; for reshape and grouped heads it is smaller; for a fixed
     * factor it is 1. */
    int64_t divisor;
    /* Iterations of the loop. 1 for a dimension that is only looked up (the entries of an embedding
     * table), since splitting it spares memory and not work. */
    int64_t size;
} MwFactor;

typedef struct {
    int8_t factor[MW_MAX_RANK]; /* per dimension; -1: runs over none that may be split */
} MwFactorMap;

typedef struct {
    int factor_count;
    MwFactor factors[MW_MAX_FACTORS];
    MwFactorMap *operands; /* [operand_count], in the arena */
    MwFactorMap *results;  /* [result_count] */
} MwShardingRule;

#endif
