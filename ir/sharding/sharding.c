/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source: factors as in Shardy (OpenXLA, "Sharding representation" and "Propagation"), which
 * generalise the letters of an einsum. */
#include "ir/sharding/sharding.h"

#include "ir/sharding/rules.h"

#include <string.h>

static void (*const rules[MW_OP_COUNT])(MwShardingContext *) = {
#define OP(id, name, operands, results, attrs, shape, sharding, ...)                               \
    [MW_OP_##id] = mw_factors_##sharding,
#include "ir/ops.def"
};

static MwFactorMap *new_maps(MwArena *arena, int count)
{
    MwFactorMap *maps = MW_NEW(arena, MwFactorMap, count);
    memset(maps, -1, sizeof(MwFactorMap) * (size_t)count);
    return maps;
}

MwShardingRule mw_sharding_rule(MwArena *arena, const MwGraph *graph, MwNodeId id)
{
    const MwNode *node = mw_node(graph, id);
    MwShardingRule rule = {.operands = new_maps(arena, node->operand_count),
                           .results = new_maps(arena, node->result_count),
                           .normaliser = -1,
                           .ring = {-1, -1},
                           .uneven = -1};
    MwShardingContext context = {.graph = graph, .node = node, .rule = &rule};
    rules[node->op](&context);
    return rule;
}
