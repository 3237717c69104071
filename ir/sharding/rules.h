/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sharding rules, by family in the .c files of this folder.
 *
 * A rule adds factors and sets the factor of each dimension. All dimensions are -1 at first:
 * they run over none. */
#ifndef MW_IR_SHARDING_RULES_H
#define MW_IR_SHARDING_RULES_H

#include "ir/sharding/context.h"

/* One rule for each name in the `sharding` column. */
#define OP(id, name, operands, results, attrs, shape, sharding, ...)                               \
    void mw_factors_##sharding(MwShardingContext *);
#include "ir/ops.def"

#endif
