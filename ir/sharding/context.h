/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The context that a sharding rule works in, and helpers of the rules. */
#ifndef MW_IR_SHARDING_CONTEXT_H
#define MW_IR_SHARDING_CONTEXT_H

#include "ir/ir.h"
#include "ir/sharding/factors.h"
#include "ir/windows.h"

typedef struct {
    const MwGraph *graph;
    const MwNode *node;
    MwShardingRule *rule;
} MwShardingContext;

const MwTensor *mw_sharding_operand(const MwShardingContext *context, int k);
const MwTensor *mw_sharding_result(const MwShardingContext *context, int k);

/* Adds a factor of `size` iterations and returns its index. The first may be split into any
 * divisor of its size, the second not at all, the third into any divisor of `divisor`; the fourth
 * is as the first, and follows the factor before (MwFactor.follows). */
int mw_sharding_add(MwShardingContext *context, int64_t size);
int mw_sharding_add_fixed(MwShardingContext *context, int64_t size);
int mw_sharding_add_divided(MwShardingContext *context, int64_t size, int64_t divisor);
int mw_sharding_add_following(MwShardingContext *context, int64_t size);
/* Adds a factor of the windows of a dimension. */
int mw_sharding_add_windows(MwShardingContext *context, const MwWindow *window);

/* Sets the factor that dimension `dim` of operand or result `k` runs over. If `factor` follows the
 * one that it ran over, it runs over both. */
void mw_sharding_operand_runs(MwShardingContext *context, int k, int dim, int factor);
void mw_sharding_result_runs(MwShardingContext *context, int k, int dim, int factor);

#endif
