/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/host.h"

/* Whether the results of a node are on the host, by those of the nodes before it. */
static bool gives_host(const bool *on_host, const MwNode *node)
{
    bool any = node->op == MW_OP_TO_HOST;
    for (int k = 0; k < node->operand_count && node->op != MW_OP_TO_DEVICE; k++)
        any |= on_host[node->operands[k].index];
    return any;
}

static void spread(const MwGraph *graph, bool *on_host)
{
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->result_count && node->operand_count; k++)
            on_host[node->first_result + k] = gives_host(on_host, node);
    }
}

/* Puts weights and states where their new values are; false if they are there. */
static bool take_assigns(const MwGraph *graph, bool *on_host)
{
    bool any = false;
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        any |= on_host[assign->value.index] && !on_host[assign->target.index];
        on_host[assign->target.index] |= on_host[assign->value.index];
    }
    return any;
}

/* Ends, since every round but the last moves a weight or state; few take more than two. */
bool *mw_on_host(MwArena *arena, const MwGraph *graph)
{
    bool *on_host = MW_NEW(arena, bool, graph->values.count);
    do
        spread(graph, on_host);
    while (take_assigns(graph, on_host));
    return on_host;
}

/* The weight of which what becomes `value` is a copy; no value: of none. weight_of: [values] the
 * weight of which that is the new value. */
static MwValueId copied_weight(const MwGraph *graph, MwValueId value, const MwValueId *weight_of)
{
    bool comes_back = false;
    for (;;) {
        const MwNode *node = mw_value_node(graph, value);
        if (node->op != MW_OP_TO_DEVICE && node->op != MW_OP_CAST && node->op != MW_OP_IDENTITY)
            return mw_no_value();
        comes_back |= node->op == MW_OP_TO_DEVICE;
        value = node->operands[0];
        if (comes_back && mw_has_value(weight_of[value.index]))
            return weight_of[value.index];
    }
}

MwValueId *mw_host_weights(MwArena *arena, const MwGraph *graph)
{
    MwValueId *weight_of = MW_NEW(arena, MwValueId, graph->values.count);
    MwValueId *copied = MW_NEW(arena, MwValueId, graph->values.count);
    for (int v = 0; v < graph->values.count; v++)
        weight_of[v] = copied[v] = mw_no_value();
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_value_node(graph, graph->assigns.at[i].target)->op == MW_OP_WEIGHT)
            weight_of[graph->assigns.at[i].value.index] = graph->assigns.at[i].target;
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_value_node(graph, graph->assigns.at[i].target)->op == MW_OP_STATE)
            copied[graph->assigns.at[i].target.index] =
                copied_weight(graph, graph->assigns.at[i].value, weight_of);
    return copied;
}

bool mw_host_ignores(const MwGraph *graph, MwValueId operand)
{
    return mw_op_is_generator(mw_value_node(graph, operand)->op);
}

bool mw_runs_on_host(const bool *on_host, const MwNode *node)
{
    return node->operand_count > 0 && node->op != MW_OP_TO_HOST && on_host[node->first_result];
}
