/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding rules of what enters and leaves a loop. Each dimension of an element has a factor; every
 * device goes through all steps, so the axis of the steps runs over none. */
#include "ir/sharding/rules.h"

void mw_factors_scan_in(MwShardingContext *context)
{
    const int axis = (int)mw_node_int(context->node, MW_ATTR_AXIS);
    mw_factors_points(context);
    for (int d = 0; d < mw_sharding_result(context, 0)->rank; d++)
        mw_sharding_operand_runs(context, 0, d + (d >= axis), d);
}

void mw_factors_scan_out(MwShardingContext *context)
{
    const int axis = (int)mw_node_int(context->node, MW_ATTR_AXIS);
    const MwTensor *operand = mw_sharding_operand(context, 0);
    for (int d = 0; d < operand->rank; d++) {
        const int factor = mw_sharding_add(context, operand->dim[d]);
        mw_sharding_operand_runs(context, 0, d, factor);
        mw_sharding_result_runs(context, 0, d + (d >= axis), factor);
    }
}
