/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sharding rules, by family in the files beside this one.
 *
 * A rule adds factors and says which of them each dimension runs over. All dimensions begin at -1,
 * running over none. */
#ifndef MW_IR_SHARDING_RULES_H
#define MW_IR_SHARDING_RULES_H

#include "ir/sharding/context.h"

/* One rule for each name in the `sharding` column. */
#define OP(id, name, operands, results, attrs, shape, sharding, ...)                               \
    void mw_factors_##sharding(MwShardingContext *);
#include "ir/ops.def"

#endif
