/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recomputation: the backward makes again what it needs of the forward, instead of keeping it
 * (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
 *
 * In:  the cut graph, the layers that recompute, and the pins `remat = true` and `false` of single
 *      values, which go before.
 * Out: the same graph in which such a value has no use in the backward: a node V.again of the
 *      backward gives it, made of what is kept, as late as it can be. What a layer takes from others
 *      is kept, and so are weights and inputs. But norms are made again in any layer, unless the
 *      user wants none: their gradient reads their operand and goes over its rows as they do, so that
 *      one kernel does both, and there is less to store and to read. And a cast of bf16 to f32 is made
 *      wherever f32 is wanted, so that what is stored is bf16.
 * Invariant: the numbers do not change. V.again is the same operator on the same operands; random
 *      masks are functions of position and key. */
#include "ir/build.h"
#include "ir/rewrite.h"
#include "passes/pass.h"

#include <string.h>

typedef struct {
    MwRewrite rewrite;
    const bool *dropped; /* [values of from] not kept for the backward */
    MwValueId *again;    /* [values of from] made again; no value: not yet */
} Remat;

/* ---- Which values are not kept ---- */

static bool is_norm(MwOp op)
{
    return op == MW_OP_LAYER_NORM || op == MW_OP_RMS_NORM;
}

static bool is_norm_gradient(MwOp op)
{
    return op == MW_OP_LAYER_NORM_GRAD || op == MW_OP_RMS_NORM_GRAD;
}

/* What can be in one kernel with the gradient of a norm. */
static bool goes_by_rows(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_REDUCE || lowering == MW_LOWER_ROWS;
}

/* [values] norms whose operand the backward reads by the gradient of the norm, and that it uses in
 * nothing but such kernels. */
static bool *find_norms(const MwGraph *graph)
{
    bool *has_gradient = MW_NEW(graph->arena, bool, graph->values.count); /* [operands of norms] */
    bool *is_stored = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->phase != MW_PHASE_BACKWARD)
            continue;
        if (is_norm_gradient(node->op))
            has_gradient[node->operands[0].index] = true;
        for (int k = 0; k < node->operand_count; k++)
            is_stored[node->operands[k].index] |= !goes_by_rows(node);
    }
    bool *norms = MW_NEW(graph->arena, bool, graph->values.count);
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *node = mw_value_node(graph, (MwValueId){v});
        norms[v] = is_norm(node->op) && has_gradient[node->operands[0].index] && !is_stored[v];
    }
    return norms;
}

static bool widens(const MwGraph *graph, const MwNode *node)
{
    return node->op == MW_OP_CAST && mw_value_tensor(graph, node->operands[0])->type == MW_BF16 &&
           mw_node_int(node, MW_ATTR_TYPE) == MW_F32;
}

/* Values that a node of another layer takes, in the forward, or that leave the model. */
static bool *find_borders(const MwGraph *graph)
{
    bool *border = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++)
            if (node->phase == MW_PHASE_FORWARD &&
                mw_value_node(graph, node->operands[k])->origin.layer != node->origin.layer)
                border[node->operands[k].index] = true;
    }
    return border;
}

static bool *find_dropped(const MwCompilation *compilation)
{
    const MwGraph *graph = compilation->graph;
    const bool *border = find_borders(graph), *norms = find_norms(graph);
    const bool splits = mw_staging_splits_backward(&compilation->staging);
    const bool none = splits || compilation->options.remat == MW_REMAT_NONE;
    bool *dropped = MW_NEW(graph->arena, bool, graph->values.count);
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *node = mw_value_node(graph, (MwValueId){v});
        bool can = node->phase == MW_PHASE_FORWARD && node->op != MW_OP_ACCUMULATE &&
                   mw_op_info(node->op)->lowering != MW_LOWER_SOURCE;
        bool is_quick = (!none && norms[v]) || (!splits && widens(graph, node));
        dropped[v] =
            can && !border[v] && (is_quick || mw_staging_remat(&compilation->staging, node));
    }
    for (int i = 0; i < graph->pins.count; i++) {
        const MwPin *pin = &graph->pins.at[i];
        const MwNode *node = mw_value_node(graph, pin->value);
        if (pin->remat >= 0 && node->phase == MW_PHASE_FORWARD &&
            mw_op_info(node->op)->lowering != MW_LOWER_SOURCE)
            dropped[pin->value.index] = pin->remat;
    }
    return dropped;
}

/* ---- The graph ---- */

static MwValueId form_for_backward(Remat *r, MwValueId value);

/* A copy of `node` in the backward, on operands as the backward has them. */
static void make_again(Remat *r, const MwNode *node)
{
    const MwGraph *from = r->rewrite.from;
    MwGraph *to = r->rewrite.to;
    MwValueId *operands = MW_NEW(to->arena, MwValueId, node->operand_count);
    const char **names = MW_NEW(to->arena, const char *, node->result_count);
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = form_for_backward(r, node->operands[k]);
    for (int k = 0; k < node->result_count; k++)
        names[k] =
            mw_arena_printf(to->arena, "%s.again", from->values.at[node->first_result + k].name);
    to->origin = node->origin;
    to->phase = MW_PHASE_BACKWARD;
    MwNodeId id = mw_build_node(to, &(MwNodeSpec){.op = node->op,
                                                  .operands = operands,
                                                  .operand_count = node->operand_count,
                                                  .attrs = node->attrs,
                                                  .attr_count = node->attr_count,
                                                  .result_names = names});
    for (int k = 0; k < node->result_count; k++)
        r->again[node->first_result + k] = mw_node_result(to, id, k);
}

static MwValueId form_for_backward(Remat *r, MwValueId value)
{
    if (!r->dropped[value.index])
        return r->rewrite.value[value.index];
    if (!mw_has_value(r->again[value.index]))
        make_again(r, mw_value_node(r->rewrite.from, value));
    return r->again[value.index];
}

static void copy_node(Remat *r, const MwNode *node)
{
    MwValueId *operands = mw_rewrite_operands(&r->rewrite, node);
    bool is_backward = node->phase == MW_PHASE_BACKWARD || node->phase == MW_PHASE_BACKWARD_WEIGHT;
    for (int k = 0; k < node->operand_count && is_backward; k++)
        operands[k] = form_for_backward(r, node->operands[k]);
    mw_rewrite_copy_on(&r->rewrite, node, operands);
}

bool mw_pass_remat(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    const MwGraph *from = compilation->graph;
    Remat r = {.rewrite = mw_rewrite_begin(from), .dropped = find_dropped(compilation)};
    r.again = MW_NEW(from->arena, MwValueId, from->values.count);
    memset(r.again, -1, sizeof(MwValueId) * (size_t)from->values.count);
    for (int n = 0; n < from->nodes.count; n++)
        copy_node(&r, &from->nodes.at[n]);
    mw_rewrite_finish(&r.rewrite);
    compilation->graph = r.rewrite.to;
    return true;
}
