/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the sharding rules share: the context that a rule works in, and its helpers. */
#ifndef MW_IR_SHARDING_CONTEXT_H
#define MW_IR_SHARDING_CONTEXT_H

#include "ir/ir.h"
#include "ir/sharding/factors.h"

typedef struct {
    const MwGraph *graph;
    const MwNode *node;
    MwShardingRule *rule;
} MwShardingContext;

const MwTensor *mw_sharding_operand(const MwShardingContext *context, int k);
const MwTensor *mw_sharding_result(const MwShardingContext *context, int k);

/* Each adds a factor and gives its index. */
int mw_sharding_add(MwShardingContext *context, int64_t size);
int mw_sharding_add_fixed(MwShardingContext *context, int64_t size);
int mw_sharding_add_divided(MwShardingContext *context, int64_t size, int64_t divisor);

/* Dimension `dim` of operand or result `k` runs over `factor`. */
void mw_sharding_operand_runs(MwShardingContext *context, int k, int dim, int factor);
void mw_sharding_result_runs(MwShardingContext *context, int k, int dim, int factor);

#endif
