/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/role_pins.h"

#include "ir/host.h"

static bool is_attention(MwOp op)
{
    return op == MW_OP_SDPA || op == MW_OP_SDPA_MASKED || op == MW_OP_SDPA_GRAD ||
           op == MW_OP_SDPA_MASKED_GRAD;
}

static bool is_product(MwOp op)
{
    return op == MW_OP_EINSUM || op == MW_OP_CONV || op == MW_OP_CONV_TRANSPOSE ||
           op == MW_OP_CONV_FILTER_GRAD;
}

/* Whether a node gives its operand times one number, as products in fp8 take theirs. */
static bool is_scaling(const MwGraph *graph, const MwNode *node)
{
    return node->op == MW_OP_MUL && mw_value_tensor(graph, node->operands[1])->rank == 0;
}

/* Whether the value is a weight, maybe cast, reshaped or scaled, or the copy that its users share
 * or that the device has of one on the host. */
static bool is_weight(const MwGraph *graph, const MwValueId *copied, MwValueId value)
{
    const MwNode *node = mw_value_node(graph, value);
    while (mw_op_keeps_elements(node->op) || is_scaling(graph, node))
        node = mw_value_node(graph, node->operands[0]);
    return node->op == MW_OP_WEIGHT || mw_has_value(copied[node->first_result]);
}

/* How a node is split by a strategy. */
static MwRoleUse use_of(const MwGraph *graph, const MwValueId *copied, const MwNode *node,
                        const MwStrategy *strategy)
{
    const MwTensor *result = &graph->values.at[node->first_result].tensor;
    MwRoleUse use = {.is_attention = is_attention(node->op),
                     .spec = strategy->results[0],
                     .rank = result->rank,
                     .operand_count = mw_min(node->operand_count, MW_ROLE_MOST_OPERANDS)};
    for (int i = 0; i < use.operand_count; i++)
        use.operands[i] =
            (MwRoleOperand){strategy->operands[i], mw_value_tensor(graph, node->operands[i])->rank,
                            is_weight(graph, copied, node->operands[i])};
    return use;
}

static bool has_role(const MwRoleUse *use, int axis, MwRole wanted)
{
    const MwRole role = mw_role_of_axis(use, axis);
    bool has_weight = false, splits_batch = false;
    for (int i = 0; i < use->operand_count; i++) {
        const MwRoleOperand *operand = &use->operands[i];
        has_weight |= operand->is_weight;
        splits_batch |= mw_spec_split_dim(operand->spec, operand->rank, axis) == 0;
    }
    if (role == MW_ROLE_NONE || has_weight || use->is_attention)
        return role == MW_ROLE_NONE || role == wanted;
    return splits_batch == (wanted == MW_ROLE_DATA);
}

void mw_role_pins_apply(const MwGraph *graph, MwStrategyTable *table, const MwStrategyList **lists)
{
    const MwValueId *copied =
        graph->roles.count ? mw_host_weights(graph->arena, graph) : NULL; /* of weights */
    for (int n = 0; graph->roles.count && n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (!is_attention(node->op) && !is_product(node->op))
            continue;
        bool *keep = MW_NEW(graph->arena, bool, lists[n]->count);
        for (int s = 0; s < lists[n]->count; s++) {
            const MwRoleUse use = use_of(graph, copied, node, &lists[n]->at[s]);
            keep[s] = true;
            for (int axis = 0; axis < graph->roles.count; axis++)
                keep[s] = keep[s] && has_role(&use, axis, graph->roles.at[axis]);
        }
        const MwStrategyList *kept = mw_strategies_kept(table, lists[n], keep);
        MW_ASSERT(kept); /* that which splits nothing */
        lists[n] = kept;
    }
}
