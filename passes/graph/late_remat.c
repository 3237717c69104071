/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Late recomputation: where gradients of weights are parted from the backward, what only they need
 * is made again in their part. So no value waits between the two parts beside what it is made of,
 * and nobody waits for what computes it.
 *
 * In:  the graph after remat, which nodes make values again, and a schedule that may part gradients
 *      of weights from the backward.
 * Out: if it does, such nodes run in the phase backward_weight where that phase alone uses them, or
 *      other such nodes do, and no more bytes are kept until then. That is decided for groups of
 *      nodes that use each other.
 * Invariant: nodes and values stay the same, but for the phase.
 *
 * The search for stages does not run it on copies of the model: it wants costs that also serve
 * schedules with one task for the whole backward. */
#include "passes/pass.h"

/* Nodes that could make values again in the weights' part of the backward. */
typedef struct {
    const MwGraph *graph;
    bool *is_late;    /* [nodes] only that part uses it, or other such nodes */
    bool *is_used;    /* [values] by other nodes of that part */
    int32_t *parent;  /* [nodes] union-find over late nodes; a root is its own parent */
    int64_t *bytes;   /* [nodes] of the group, at its root: kept longer, less not kept */
    int32_t *counted; /* [values] 1 + the last group that counts them; 0: none */
} LateNodes;

static int maker_of(const LateNodes *late, MwValueId value)
{
    return mw_value(late->graph, value)->node.index;
}

/* `is_again` [nodes]: those that make values of the forward again. */
static void find_late(LateNodes *late, const bool *is_again)
{
    const MwGraph *graph = late->graph;
    bool *is_early = MW_NEW(graph->arena, bool, graph->nodes.count); /* used elsewhere */
    for (int i = 0; i < graph->outputs.count; i++)
        is_early[maker_of(late, graph->outputs.at[i].value)] = true;
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        const bool is_weight = node->phase == MW_PHASE_BACKWARD_WEIGHT;
        late->is_late[n] = is_again[n] && !is_early[n];
        for (int k = 0; k < node->operand_count; k++) {
            is_early[maker_of(late, node->operands[k])] |= !is_weight && !late->is_late[n];
            late->is_used[node->operands[k].index] |= is_weight;
        }
    }
}

/* ---- Groups ---- */

/* The root of the group of a late node. Halves the path to it. */
static int32_t group_of(const LateNodes *late, int32_t node)
{
    while (late->parent[node] != node)
        node = late->parent[node] = late->parent[late->parent[node]];
    return node;
}

/* Late nodes of which one uses the other are in one group. */
static void find_groups(const LateNodes *late)
{
    const MwGraph *graph = late->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        late->parent[n] = n;
        for (int k = 0; k < graph->nodes.at[n].operand_count && late->is_late[n]; k++) {
            const int maker = maker_of(late, graph->nodes.at[n].operands[k]);
            if (late->is_late[maker])
                late->parent[group_of(late, maker)] = group_of(late, n);
        }
    }
}

/* Adds the bytes of a value to those of a group, unless it has just counted them. */
static void count_bytes(LateNodes *late, MwValueId value, int32_t group, int sign)
{
    if (late->counted[value.index] != group + 1)
        late->bytes[group] += sign * mw_tensor_bytes(mw_value_tensor(late->graph, value));
    late->counted[value.index] = group + 1;
}

/* Whether a value would wait for the weights' part only if a late node that takes it ran there. */
static bool would_wait(const LateNodes *late, MwValueId value)
{
    return !late->is_late[maker_of(late, value)] && !late->is_used[value.index] &&
           mw_op_info(mw_value_node(late->graph, value)->op)->lowering != MW_LOWER_SOURCE;
}

/* Counts for each group what would wait for it, and what it makes that waits now. */
static void count_groups(LateNodes *late)
{
    const MwGraph *graph = late->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (!late->is_late[n])
            continue;
        const int32_t group = group_of(late, n);
        for (int k = 0; k < node->operand_count; k++)
            if (would_wait(late, node->operands[k]))
                count_bytes(late, node->operands[k], group, 1);
        for (int v = node->first_result; v < node->first_result + node->result_count; v++)
            if (late->is_used[v])
                count_bytes(late, (MwValueId){v}, group, -1);
    }
}

bool mw_pass_late_remat(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    MwGraph *graph = compilation->graph;
    if (!mw_staging_splits_backward(&compilation->staging))
        return true;
    LateNodes late = {.graph = graph,
                      .is_late = MW_NEW(graph->arena, bool, graph->nodes.count),
                      .is_used = MW_NEW(graph->arena, bool, graph->values.count),
                      .parent = MW_NEW(graph->arena, int32_t, graph->nodes.count),
                      .bytes = MW_NEW(graph->arena, int64_t, graph->nodes.count),
                      .counted = MW_NEW(graph->arena, int32_t, graph->values.count)};
    find_late(&late, compilation->is_again);
    find_groups(&late);
    count_groups(&late);
    for (int n = 0; n < graph->nodes.count; n++)
        if (late.is_late[n] && late.bytes[group_of(&late, n)] <= 0)
            graph->nodes.at[n].phase = MW_PHASE_BACKWARD_WEIGHT;
    return true;
}
