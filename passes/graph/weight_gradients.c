/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backward split in two, for schedules that run the gradients of weights apart from those that
 * earlier stages wait for (Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 2).
 *
 * In:  the cut graph, and a schedule that splits the backward or does not.
 * Out: where it does, gradients of weights and what adds them up run in the phase backward_weight:
 *      the last operator before the sum that is no more than element-wise (a product, a reduction, a
 *      scattering), and around it element-wise work and changes of shape that nothing else needs.
 *      What leads to gradients of activations stays in the backward, on the first stage too. */
#include "passes/pass.h"

/* How far a node is from the sum over micro-batches. */
typedef enum {
    OTHER,  /* gives something that the backward needs */
    SUMMED, /* gives, perhaps after element-wise work, what is summed or used by the update */
    BEFORE, /* element-wise, only for the operator that gives it */
} Part;

static bool is_light(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_VIEW || lowering == MW_LOWER_MOVE;
}

/* What a node must be if one of its users is `user`. */
static Part part_for(const MwNode *user, Part part)
{
    if (user->phase == MW_PHASE_UPDATE)
        return SUMMED;
    if (user->phase != MW_PHASE_BACKWARD || part == OTHER)
        return OTHER;
    return part == SUMMED && is_light(user) ? SUMMED : BEFORE;
}

/* Users decide: all must be of the weights' part. A node that is only before another's operator must
 * be light to be taken along. */
static void find_parts(const MwGraph *graph, Part *part)
{
    bool *is_used = MW_NEW(graph->arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++)
        part[n] = SUMMED;
    for (int i = 0; i < graph->outputs.count; i++)
        part[mw_value(graph, graph->outputs.at[i].value)->node.index] = OTHER;
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        if (part[n] == BEFORE && !is_light(node))
            part[n] = OTHER;
        if (!is_used[n] && node->op != MW_OP_ACCUMULATE)
            part[n] = OTHER;
        for (int k = 0; k < node->operand_count; k++) {
            int maker = mw_value(graph, node->operands[k])->node.index;
            Part wanted = part_for(node, part[n]);
            is_used[maker] = true;
            if (part[maker] == OTHER || wanted == OTHER)
                part[maker] = OTHER;
            else
                part[maker] = wanted == BEFORE ? BEFORE : part[maker];
        }
    }
}

bool mw_pass_weight_gradients(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    MwGraph *graph = compilation->graph;
    if (!mw_staging_splits_backward(&compilation->staging))
        return true;
    Part *part = MW_NEW(graph->arena, Part, graph->nodes.count);
    find_parts(graph, part);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].phase == MW_PHASE_BACKWARD && part[n] != OTHER)
            graph->nodes.at[n].phase = MW_PHASE_BACKWARD_WEIGHT;
    return true;
}
