/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One backward walk over the nodes for last uses, views passing theirs on to what they view.
 *
 * A value is taken to be fused away if an element-wise operator makes it and one node alone uses
 * it, once, in the same phase, in a kernel of the kind that element-wise work is fused into. */
#include "passes/liveness.h"

typedef struct {
    const MwGraph *graph;
    MwLife *lives;
    int *uses;         /* [values] operand slots, outputs, assignments */
    int *fusable_uses; /* [values] those in its phase by nodes that take fused operands */
} Walk;

static bool is_view(const MwNode *node)
{
    return mw_op_info(node->op)->lowering == MW_LOWER_VIEW || node->op == MW_OP_SEND;
}

static bool is_source(const MwNode *node)
{
    return mw_op_info(node->op)->lowering == MW_LOWER_SOURCE;
}

/* Element-wise work is fused into such kernels. */
static bool takes_fused_operands(MwLowering lowering)
{
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_ROWS || lowering == MW_LOWER_REDUCE;
}

/* What comes from nothing (a constant, an iota) is made anew in every kernel that uses it. */
static bool is_fused(const Walk *walk, int value)
{
    const MwNode *maker = mw_node(walk->graph, walk->graph->values.at[value].node);
    return mw_op_info(maker->op)->lowering == MW_LOWER_MAP &&
           walk->fusable_uses[value] == walk->uses[value] &&
           (walk->uses[value] == 1 || maker->operand_count == 0);
}

static void count_uses(Walk *walk)
{
    const MwGraph *graph = walk->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        bool fuses = takes_fused_operands(mw_op_info(node->op)->lowering);
        for (int k = 0; k < node->operand_count; k++) {
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            bool is_near = node->phase == maker->phase || maker->operand_count == 0;
            walk->uses[node->operands[k].index]++;
            walk->fusable_uses[node->operands[k].index] += fuses && is_near;
        }
    }
    for (int i = 0; i < graph->outputs.count; i++)
        walk->uses[graph->outputs.at[i].value.index]++;
    for (int i = 0; i < graph->assigns.count; i++)
        walk->uses[graph->assigns.at[i].value.index]++;
    if (mw_has_value(graph->train.loss))
        walk->uses[graph->train.loss.index]++;
}

static void live_until(Walk *walk, MwValueId value, int64_t end)
{
    walk->lives[value.index].end = mw_max(walk->lives[value.index].end, end);
}

static void set_storage(Walk *walk, MwNodeId id)
{
    const MwNode *node = mw_node(walk->graph, id);
    for (int k = 0; k < node->result_count; k++) {
        int value = node->first_result + k;
        MwLife *life = &walk->lives[value];
        life->begin = is_source(node) ? 0 : id.index;
        life->end = id.index + 1;
        if (is_source(node))
            life->end = walk->graph->nodes.count;
        else if (is_view(node))
            life->storage = MW_STORE_VIEW;
        else if (is_fused(walk, value))
            life->storage = MW_STORE_FUSED;
    }
}

MwLife *mw_liveness(MwArena *arena, const MwGraph *graph)
{
    Walk walk = {.graph = graph,
                 .lives = MW_NEW(arena, MwLife, graph->values.count),
                 .uses = MW_NEW(arena, int, graph->values.count),
                 .fusable_uses = MW_NEW(arena, int, graph->values.count)};
    count_uses(&walk);
    for (int n = 0; n < graph->nodes.count; n++)
        set_storage(&walk, (MwNodeId){n});
    for (int i = 0; i < graph->assigns.count; i++)
        walk.lives[graph->assigns.at[i].value.index].storage = MW_STORE_IN_PLACE;
    for (int i = 0; i < graph->outputs.count; i++)
        live_until(&walk, graph->outputs.at[i].value, graph->nodes.count);
    if (mw_has_value(graph->train.loss))
        live_until(&walk, graph->train.loss, graph->nodes.count);
    for (int n = graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &graph->nodes.at[n];
        int64_t end = n + 1;
        if (is_view(node))
            end = mw_max(end, walk.lives[node->first_result].end);
        for (int k = 0; k < node->operand_count; k++)
            live_until(&walk, node->operands[k], end);
    }
    return walk.lives;
}
