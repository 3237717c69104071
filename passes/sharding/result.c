/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/result.h"

MwSpec mw_sharding_value_spec(const MwSharding *sharding, MwValueId value)
{
    const MwValue *v = mw_value(sharding->problem->graph, value);
    int result = value.index - mw_node(sharding->problem->graph, v->node)->first_result;
    return mw_sharding_strategy(sharding, v->node)->results[result];
}
