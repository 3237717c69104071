/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/graph/backpropagate.h"

#include "ir/build.h"
#include "passes/graph/gradients.h"

#include <string.h>

static void (*const gradients[MW_OP_COUNT])(MwGradient *) = {
#define OP(id, name, operands, results, attrs, shape, sharding, combine, linear, padding,          \
           gradient, ...)                                                                          \
    [MW_OP_##id] = mw_gradient_##gradient,
#include "ir/ops.def"
};

void mw_gradient_none(MwGradient *g)
{
    mw_diag_error(g->diags, g->node.origin.span, "%s is not differentiable",
                  mw_op_info(g->node.op)->name);
}

/* Floats of 8 bits have no gradient: nothing could add it up. */
static bool has_gradient(const MwGraph *graph, MwValueId value)
{
    const MwType type = mw_value_tensor(graph, value)->type;
    return mw_type_is_float(type) && !mw_type_is_fp8(type);
}

/* [values] whether a value is a function of one of `by`, through floating-point values alone, or is
 * one. */
static bool *find_dependent(const MwDifferentiator *d)
{
    const MwGraph *graph = d->graph;
    bool *dependent = MW_NEW(graph->arena, bool, d->values);
    do {
        for (int n = 0; n < d->nodes; n++) {
            const MwNode *node = &graph->nodes.at[n];
            bool any = false;
            const bool stops = d->stops && node->op == MW_OP_STOP_GRADIENT;
            for (int k = 0; k < node->operand_count && !stops; k++)
                any |= dependent[node->operands[k].index];
            for (int k = 0; k < node->result_count; k++) {
                MwValueId result = {node->first_result + k};
                dependent[result.index] |=
                    (any || d->by[result.index]) && has_gradient(graph, result);
            }
        }
    } while (mw_loops_carry_on(&d->loops, graph, dependent));
    return dependent;
}

/* [values] whether a value depends on one of `by` and affects y. */
static bool *find_active(const MwDifferentiator *d)
{
    const MwGraph *graph = d->graph;
    const bool *dependent = find_dependent(d);
    bool *active = MW_NEW(graph->arena, bool, d->values);
    bool *affects = MW_NEW(graph->arena, bool, d->nodes);
    active[d->y.index] = dependent[d->y.index];
    for (int from = d->nodes - 1; from >= 0; from = mw_loops_need_next(&d->loops, affects))
        for (int n = from; n >= 0; n--) {
            const MwNode *node = &graph->nodes.at[n];
            for (int k = 0; k < node->result_count; k++)
                affects[n] |= active[node->first_result + k];
            for (int k = 0; affects[n] && k < node->operand_count; k++)
                active[node->operands[k].index] |= dependent[node->operands[k].index];
        }
    return active;
}

MwType mw_differentiator_type(const MwDifferentiator *d, MwValueId value)
{
    return d->has_f32_gradient[value.index] ? MW_F32 : mw_value_tensor(d->graph, value)->type;
}

void mw_differentiator_add(MwDifferentiator *d, MwValueId value, MwValueId contribution)
{
    MwValueId *sum = &d->gradient[value.index];
    MW_ASSERT(mw_tensor_same_shape(mw_value_tensor(d->graph, value),
                                   mw_value_tensor(d->graph, contribution)));
    contribution = mw_build_cast(d->graph, contribution, mw_differentiator_type(d, value));
    *sum = mw_has_value(*sum) ? mw_build_binary(d->graph, MW_OP_ADD, *sum, contribution)
                              : contribution;
}

/* Applies the gradient rule of a node and adds its results to the gradients by the operands. */
static void apply_rule(MwDifferentiator *d, MwNodeId id)
{
    MwGraph *graph = d->graph;
    MwNode node = *mw_node(graph, id);
    bool *wanted = MW_NEW(graph->arena, bool, node.operand_count);
    MwType *types = MW_NEW(graph->arena, MwType, node.operand_count);
    bool any_result = false, any_wanted = false;
    for (int k = 0; k < node.result_count; k++)
        any_result |= mw_has_value(d->gradient[node.first_result + k]);
    for (int k = 0; k < node.operand_count; k++) {
        any_wanted |= wanted[k] = d->active[node.operands[k].index];
        types[k] = mw_differentiator_type(d, node.operands[k]);
    }
    if (!any_result || !any_wanted)
        return;
    const MwValueId *operands = node.operands;
    graph->origin = mw_differentiator_origin(d, &node);
    node.operands = mw_loop_images(d, id, operands, node.operand_count);
    MwGradient g = {.graph = graph,
                    .node = node,
                    .values = mw_loop_result_images(d, id),
                    .results = &d->gradient[node.first_result],
                    .wanted = wanted,
                    .types = types,
                    .operands = MW_NEW(graph->arena, MwValueId, node.operand_count),
                    .diags = d->diags};
    memset(g.operands, -1, sizeof(MwValueId) * (size_t)node.operand_count);
    gradients[node.op](&g);
    for (int k = 0; k < node.operand_count; k++)
        if (wanted[k] && mw_has_value(g.operands[k]))
            mw_differentiator_add(d, operands[k], mw_loop_sum(d, id, operands[k], g.operands[k]));
}

static void differentiate_node(MwDifferentiator *d, MwNodeId id)
{
    if (!mw_loop_differentiate(d, id))
        apply_rule(d, id);
}

void mw_differentiator_begin(MwDifferentiator *d)
{
    d->nodes = d->graph->nodes.count;
    d->values = d->graph->values.count;
    d->loops = mw_loops(d->graph->arena, d->graph);
    d->order = mw_loops_order(d->graph->arena, d->graph, &d->loops);
    d->next_loop = d->loops.count;
}

void mw_differentiator_set(MwDifferentiator *d, MwValueId y, const bool *by)
{
    d->y = y;
    d->by = by;
    d->active = find_active(d);
    d->gradient = MW_NEW(d->graph->arena, MwValueId, d->values);
    memset(d->gradient, -1, sizeof *d->gradient * (size_t)d->values);
}

bool mw_backpropagate(MwDifferentiator *d)
{
    MwGraph *graph = d->graph;
    d->value_counts = MW_NEW(graph->arena, int, d->nodes + 1);
    d->value_counts[d->nodes] = graph->values.count;
    mw_loop_begin(d);
    for (int i = d->nodes - 1; i >= 0; i--) {
        differentiate_node(d, (MwNodeId){d->order[i]});
        d->value_counts[i] = graph->values.count;
    }
    return mw_diags_error_count(d->diags) == 0;
}
