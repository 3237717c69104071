/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the sharding rules share; included by ir/sharding*.c alone.
 *
 * A rule adds factors and says which of them each dimension runs over. All dimensions begin at -1,
 * running over none. */
#ifndef MW_IR_SHARDING_RULES_H
#define MW_IR_SHARDING_RULES_H

#include "ir/sharding.h"

typedef struct {
    const MwGraph *graph;
    const MwNode *node;
    MwShardingRule *rule;
} MwShardingContext;

/* One rule for each name in the `sharding` column. */
#define OP(id, name, operands, results, attrs, shape, sharding, ...)                               \
    void mw_factors_##sharding(MwShardingContext *);
#include "ir/ops.def"

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
