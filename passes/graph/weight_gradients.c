/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits the backward in two, for schedules that run the gradients of weights apart from those
 * that earlier stages wait for (Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 2).
 *
 * In:  the cut graph, and a schedule that may split the backward.
 * Out: if it does, gradients of weights and their accumulation run in the phase backward_weight:
 *      the last operator before the sum over micro-batches that is more than element-wise (a
 *      product, a reduction, a scatter), and element-wise operators and changes of shape around
 *      it that have no other use in their layer. Nodes that gradients of activations depend on
 *      stay in the backward, on the first stage too: where all of a backward is element-wise,
 *      what goes from layer to layer. So does what runs in a loop. */
#include "ir/loops.h"
#include "passes/pass.h"

/* The relation of a node to the sum over micro-batches. */
typedef enum {
    ROLE_OTHER, /* the backward needs it */
    /* it gives the summed value, or the update uses it, perhaps after element-wise operators */
    ROLE_SUMMED,
    ROLE_OPERAND, /* element-wise, and used only by the operator that gives the summed value */
} GradientRole;

static bool is_element_wise(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_VIEW || lowering == MW_LOWER_MOVE;
}

/* The role of a node for one of its users, which has role `role`. A stage may end between any two
 * layers, and the earlier one waits for the gradient that the later one sends. */
static GradientRole role_for(const MwNode *maker, const MwNode *user, GradientRole role)
{
    if (user->phase == MW_PHASE_UPDATE)
        return ROLE_SUMMED;
    if (user->phase != MW_PHASE_BACKWARD || role == ROLE_OTHER)
        return ROLE_OTHER;
    if (role == ROLE_SUMMED && is_element_wise(user))
        return ROLE_SUMMED;
    return maker->origin.layer == user->origin.layer ? ROLE_OPERAND : ROLE_OTHER;
}

/* Finds the role of each node from its users: it has a role other than ROLE_OTHER only if all
 * users allow it. An operand of the operator that gives the summed value must be element-wise. */
static void find_roles(const MwGraph *graph, GradientRole *role)
{
    const MwLoops loops = mw_loops(graph->arena, graph);
    bool *is_used = MW_NEW(graph->arena, bool, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++)
        role[n] = ROLE_SUMMED;
    for (int i = 0; i < graph->outputs.count; i++)
        role[mw_value(graph, graph->outputs.at[i].value)->node.index] = ROLE_OTHER;
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        if (role[n] == ROLE_OPERAND && !is_element_wise(node))
            role[n] = ROLE_OTHER;
        if ((!is_used[n] && !mw_op_accumulates(node->op)) || loops.of_node[n] >= 0)
            role[n] = ROLE_OTHER;
        for (int k = 0; k < node->operand_count; k++) {
            int maker = mw_value(graph, node->operands[k])->node.index;
            GradientRole wanted = role_for(&graph->nodes.at[maker], node, role[n]);
            is_used[maker] = true;
            if (role[maker] == ROLE_OTHER || wanted == ROLE_OTHER)
                role[maker] = ROLE_OTHER;
            else
                role[maker] = wanted == ROLE_OPERAND ? ROLE_OPERAND : role[maker];
        }
    }
}

bool mw_pass_weight_gradients(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    MwGraph *graph = compilation->graph;
    if (!mw_staging_splits_backward(&compilation->staging))
        return true;
    GradientRole *role = MW_NEW(graph->arena, GradientRole, graph->nodes.count);
    find_roles(graph, role);
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].phase == MW_PHASE_BACKWARD && role[n] != ROLE_OTHER)
            graph->nodes.at[n].phase = MW_PHASE_BACKWARD_WEIGHT;
    return true;
}
