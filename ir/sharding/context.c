/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/sharding/context.h"

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

int mw_sharding_add_following(MwShardingContext *context, int64_t size)
{
    MW_ASSERT(context->rule->factor_count > 0);
    return add_factor(
        context,
        (MwFactor){.kind = MW_FACTOR_SPLITTABLE, .divisor = size, .follows = true, .size = size});
}

int mw_sharding_add_windows(MwShardingContext *context, const MwWindow *window)
{
    const int64_t most = mw_window_blocks(window);
    if (most == 1)
        return mw_sharding_add_fixed(context, window->out);
    return add_factor(context, (MwFactor){.kind = MW_FACTOR_WINDOWS,
                                          .divisor = window->out,
                                          .most = most,
                                          .size = window->out});
}

static void run_over(const MwShardingContext *context, MwFactorMap *map, const MwTensor *tensor,
                     int dim, int factor)
{
    MW_ASSERT(tensor->dim[dim] % context->rule->factors[factor].divisor == 0);
    const bool is_more = context->rule->factors[factor].follows && map->last[dim] == factor - 1;
    if (!is_more)
        map->factor[dim] = (int8_t)factor;
    map->last[dim] = (int8_t)factor;
}

void mw_sharding_operand_runs(MwShardingContext *context, int k, int dim, int factor)
{
    run_over(context, &context->rule->operands[k], mw_sharding_operand(context, k), dim, factor);
}

void mw_sharding_result_runs(MwShardingContext *context, int k, int dim, int factor)
{
    run_over(context, &context->rule->results[k], mw_sharding_result(context, k), dim, factor);
}
