/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules: the common part, and the rules of sources, element-wise operators and operators
 * along whole dimensions. Contractions, look-ups and attention are in sharding_contract.c,
 * operators that move elements in sharding_move.c.
 *
 * Source: factors as in Shardy (OpenXLA, "Sharding representation" and "Propagation"), which
 * generalise the letters of an einsum. */
#include "ir/sharding.h"

#include "ir/sharding_rules.h"

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
                           .results = new_maps(arena, node->result_count)};
    MwShardingContext context = {.graph = graph, .node = node, .rule = &rule};
    rules[node->op](&context);
    return rule;
}

const MwTensor *mw_sharding_operand(const MwShardingContext *context, int k)
{
    MW_ASSERT(k >= 0 && k < context->node->operand_count);
    return mw_value_tensor(context->graph, context->node->operands[k]);
}

const MwTensor *mw_sharding_result(const MwShardingContext *context, int k)
{
    MW_ASSERT(k >= 0 && k < context->node->result_count);
    return mw_value_tensor(context->graph, (MwValueId){context->node->first_result + k});
}

static int add_factor(MwShardingContext *context, MwFactor factor)
{
    MwShardingRule *rule = context->rule;
    MW_ASSERT(rule->factor_count < MW_MAX_FACTORS && factor.divisor > 0 && factor.size > 0);
    rule->factors[rule->factor_count] = factor;
    return rule->factor_count++;
}

int mw_sharding_add(MwShardingContext *context, int64_t size)
{
    return mw_sharding_add_divided(context, size, size);
}

int mw_sharding_add_fixed(MwShardingContext *context, int64_t size)
{
    return add_factor(context, (MwFactor){MW_FACTOR_FIXED, .divisor = 1, .size = size});
}

int mw_sharding_add_divided(MwShardingContext *context, int64_t size, int64_t divisor)
{
    return add_factor(context, (MwFactor){MW_FACTOR_SPLITTABLE, .divisor = divisor, .size = size});
}

void mw_sharding_operand_runs(MwShardingContext *context, int k, int dim, int factor)
{
    MW_ASSERT(mw_sharding_operand(context, k)->dim[dim] % context->rule->factors[factor].divisor ==
              0);
    context->rule->operands[k].factor[dim] = (int8_t)factor;
}

void mw_sharding_result_runs(MwShardingContext *context, int k, int dim, int factor)
{
    MW_ASSERT(mw_sharding_result(context, k)->dim[dim] % context->rule->factors[factor].divisor ==
              0);
    context->rule->results[k].factor[dim] = (int8_t)factor;
}

/* A factor for each dimension of the first result, in order; other results are alike. */
void mw_factors_points(MwShardingContext *context)
{
    const MwTensor *result = mw_sharding_result(context, 0);
    for (int d = 0; d < result->rank; d++) {
        int factor = mw_sharding_add(context, result->dim[d]);
        for (int k = 0; k < context->node->result_count; k++)
            mw_sharding_result_runs(context, k, d, factor);
    }
}

/* Operand `k` broadcasts to the first result: its dimensions, aligned from the right, run over the
 * result's factors, but those that stretch run over none. */
static void broadcast_operand(MwShardingContext *context, int k)
{
    const MwTensor *operand = mw_sharding_operand(context, k);
    const MwTensor *result = mw_sharding_result(context, 0);
    for (int back = 1; back <= operand->rank; back++) {
        int from = operand->rank - back, to = result->rank - back;
        if (operand->dim[from] == result->dim[to])
            mw_sharding_operand_runs(context, k, from, context->rule->results[0].factor[to]);
    }
}

void mw_factors_map(MwShardingContext *context)
{
    mw_factors_points(context);
    for (int k = 0; k < context->node->operand_count; k++)
        broadcast_operand(context, k);
}

void mw_factors_reduce(MwShardingContext *context)
{
    const MwTensor *operand = mw_sharding_operand(context, 0);
    const MwAttr *axes = mw_node_attr(context->node, MW_ATTR_AXES);
    bool keep = mw_node_int(context->node, MW_ATTR_KEEP);
    for (int d = 0, at = 0, to = 0; d < operand->rank; d++) {
        int factor = mw_sharding_add(context, operand->dim[d]);
        mw_sharding_operand_runs(context, 0, d, factor);
        bool reduced = at < axes->ints.count && axes->ints.at[at] == d;
        at += reduced;
        if (!reduced)
            mw_sharding_result_runs(context, 0, to, factor);
        to += !reduced || keep;
    }
}

static void leading_dims(MwShardingContext *context, bool last_is_fixed)
{
    const MwTensor *first = mw_sharding_operand(context, 0);
    for (int d = 0; d < first->rank; d++) {
        bool fixed = last_is_fixed && d == first->rank - 1;
        int factor = fixed ? mw_sharding_add_fixed(context, first->dim[d])
                           : mw_sharding_add(context, first->dim[d]);
        for (int k = 0; k < context->node->operand_count; k++)
            if (d < mw_sharding_operand(context, k)->rank)
                mw_sharding_operand_runs(context, k, d, factor);
        for (int k = 0; k < context->node->result_count; k++)
            if (d < mw_sharding_result(context, k)->rank)
                mw_sharding_result_runs(context, k, d, factor);
    }
}

/* A factor for each dimension of operand 0, which the other operands and the results have as far
 * as they have dimensions. */
void mw_factors_leading(MwShardingContext *context)
{
    leading_dims(context, false);
}

/* As leading, but every row (along the last dimension) is worked on as a whole. */
void mw_factors_rows(MwShardingContext *context)
{
    leading_dims(context, true);
}

/* A node that is local already: nothing of it may be split again. */
void mw_factors_local(MwShardingContext *context)
{
    MW_ASSERT(context->rule->factor_count == 0);
}
