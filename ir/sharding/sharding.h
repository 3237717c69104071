/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sharding rule of a node: the `sharding` column of ir/ops.def. */
#ifndef MW_IR_SHARDING_SHARDING_H
#define MW_IR_SHARDING_SHARDING_H

#include "ir/ir.h"
#include "ir/sharding/factors.h"

/* The rule of `node` with its current (global or cut) shapes. Allocates in `arena`. */
MwShardingRule mw_sharding_rule(MwArena *arena, const MwGraph *graph, MwNodeId node);

#endif
