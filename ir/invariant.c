/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/invariant.h"

#include "ir/loops.h"

/* Whether the results are the same if the operands are: where it counts positions, these may be
 * those of a micro-batch. */
static bool is_function(const MwNode *node)
{
    for (int i = 0; i < node->attr_count; i++)
        if (mw_attr_is_origin(node->attrs[i].key))
            return false;
    return node->op != MW_OP_INPUT && node->op != MW_OP_SEND && node->op != MW_OP_RECEIVE &&
           node->op != MW_OP_STEP && !mw_op_is_scan(node->op);
}

/* [values] states that micro-batches change. */
static bool *find_accumulated(MwArena *arena, const MwGraph *graph)
{
    bool *is_accumulated = MW_NEW(arena, bool, graph->values.count);
    for (int i = 0; i < graph->assigns.count; i++)
        is_accumulated[graph->assigns.at[i].target.index] =
            mw_assign_accumulates(graph, &graph->assigns.at[i]);
    return is_accumulated;
}

bool *mw_find_invariant(MwArena *arena, const MwGraph *graph)
{
    const bool *is_accumulated = find_accumulated(arena, graph);
    bool *is_invariant = MW_NEW(arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        bool is_same = node->phase != MW_PHASE_UPDATE && is_function(node);
        for (int k = 0; k < node->operand_count; k++)
            is_same &= is_invariant[node->operands[k].index];
        for (int v = node->first_result; v < node->first_result + node->result_count; v++)
            is_invariant[v] = is_same && !is_accumulated[v];
    }
    return is_invariant;
}
