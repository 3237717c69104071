/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/kept_casts.h"

#include <string.h>

/* Whether a kernel of the update makes `value`. */
static bool is_made_by_update(const MwGraph *graph, MwValueId value)
{
    const MwNode *maker = mw_value_node(graph, value);
    return maker->phase == MW_PHASE_UPDATE && mw_op_info(maker->op)->lowering == MW_LOWER_MAP;
}

static bool is_weight(const MwGraph *graph, MwValueId value)
{
    return mw_value_node(graph, value)->op == MW_OP_WEIGHT;
}

/* Whether `node` casts f32 to a type of 16 bits, before the update. */
static bool shortens(const MwGraph *graph, const MwNode *node)
{
    return node->op == MW_OP_CAST && node->phase != MW_PHASE_UPDATE &&
           mw_type_is_half(graph->values.at[node->first_result].tensor.type) &&
           mw_value_tensor(graph, node->operands[0])->type == MW_F32;
}

const int32_t *mw_find_kept_casts(MwArena *arena, const MwGraph *graph)
{
    int32_t *kept = MW_NEW(arena, int32_t, graph->nodes.count);
    int32_t *assign = MW_NEW(arena, int32_t, graph->values.count);
    memset(assign, -1, sizeof *assign * (size_t)graph->values.count);
    for (int i = 0; i < graph->assigns.count; i++)
        if (is_weight(graph, graph->assigns.at[i].target) &&
            is_made_by_update(graph, graph->assigns.at[i].value))
            assign[graph->assigns.at[i].target.index] = i;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        kept[n] = shortens(graph, node) ? assign[node->operands[0].index] : -1;
    }
    return kept;
}
