/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds up the gradient of a weight that several stages use once a step.
 *
 * In:  a graph with its update, and the stages.
 * Out: if the gradient of a weight is a sum of terms from several stages, that sum, and all
 *      nodes between it and the update, are in the update phase. So each stage accumulates its
 *      own term over the micro-batches, and the terms cross between stages once a step. With one
 *      stage the graph stays as it is.
 * Invariant: the same terms are added in the same order. */
#include "passes/pass.h"

typedef struct {
    const MwCompilation *compilation;
    MwGraph *graph;
    /* [nodes] linear, element-wise, and used by the update or by such nodes alone */
    bool *feeds_update;
} LateSums;

/* Linear element-wise operators and changes of shape apply to a sum term by term. Their results
 * reach the update only if their operands are summed over the batch before. */
static bool is_linear_element_wise(const MwNode *node)
{
    const MwOpInfo *info = mw_op_info(node->op);
    bool is_element_wise = info->lowering == MW_LOWER_MAP || info->lowering == MW_LOWER_VIEW ||
                           info->lowering == MW_LOWER_MOVE;
    return is_element_wise && (info->linear != MW_LINEAR_NONE || node->op == MW_OP_CAST);
}

/* Fills feeds_update, from the last node to the first: all users of a node must be the update or
 * feeders. */
static void find_update_feeders(LateSums *l)
{
    const MwGraph *graph = l->graph;
    bool *is_used = MW_NEW(graph->arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++)
        l->feeds_update[n] = graph->nodes.at[n].phase == MW_PHASE_BACKWARD &&
                             is_linear_element_wise(&graph->nodes.at[n]);
    for (int i = 0; i < graph->outputs.count; i++)
        l->feeds_update[mw_value(graph, graph->outputs.at[i].value)->node.index] = false;
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        l->feeds_update[n] = l->feeds_update[n] && is_used[n];
        for (int k = 0; k < node->operand_count; k++) {
            int maker = mw_value(graph, node->operands[k])->node.index;
            is_used[maker] = true;
            if (node->phase != MW_PHASE_UPDATE && !l->feeds_update[n])
                l->feeds_update[maker] = false;
        }
    }
}

/* Whether the operands come from several stages, or from the update phase. */
static bool is_late(const LateSums *l, const MwNode *node)
{
    const MwStaging *staging = &l->compilation->staging;
    const MwNode *first = mw_value_node(l->graph, node->operands[0]);
    for (int k = 0; k < node->operand_count; k++) {
        const MwNode *maker = mw_value_node(l->graph, node->operands[k]);
        if (maker->phase == MW_PHASE_UPDATE ||
            mw_staging_stage(staging, maker) != mw_staging_stage(staging, first))
            return true;
    }
    return false;
}

bool mw_pass_late_sums(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    MwGraph *graph = compilation->graph;
    LateSums l = {compilation, graph, MW_NEW(graph->arena, bool, graph->nodes.count)};
    find_update_feeders(&l);
    for (int n = 0; n < graph->nodes.count; n++)
        if (l.feeds_update[n] && graph->nodes.at[n].operand_count > 0 &&
            is_late(&l, &graph->nodes.at[n]))
            graph->nodes.at[n].phase = MW_PHASE_UPDATE;
    return true;
}
