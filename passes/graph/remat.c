/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recomputation: the backward computes values of the forward again instead of keeping them (Chen
 * et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
 *
 * In:  the cut graph, the layers that recompute, and the pins `remat = true` and `remat = false`
 *      of single values, which take precedence.
 * Out: the same graph in which a recomputed value V has no use in the backward: a backward node
 *      V.again computes it from values that are kept, as late as possible. The values that a
 *      layer takes from other layers are kept, and so are weights and inputs. And which nodes
 *      compute values again.
 * Three kinds of values are recomputed in any layer, the first two unless the user forbids
 * recomputation:
 * - norms: the gradient of a norm reads its operand row by row as the norm does, so one kernel
 *   computes both, with less to store and to read;
 * - chains of element-wise operators on a value that the backward has anyhow, or that is less to
 *   keep (passes/graph/remat_cut.h);
 * - casts of floats of 16 bits to f32, so that the stored value has 16 bits.
 * A selective layer keeps what products, convolutions and attention give, where the backward needs
 * it, and makes all else again from that (Korthikanti et al., "Reducing Activation Recomputation in
 * Large Transformer Models", 2022, choose by the same ratio of bytes to time; the choice by
 * operators is that of `checkpoint_dots` in JAX). What is made again is not kept either in a
 * layout that it was gathered to.
 * Invariant: the numbers do not change. V.again is the same operator on the same operands, and
 * random masks are functions of position and key. */
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "passes/graph/remat_cut.h"
#include "passes/pass.h"

#include <string.h>

typedef struct {
    MwRewrite rewrite;
    const bool *recomputed; /* [values of from] not kept for the backward */
    MwValueId *copy;        /* [values of from] the copy in the backward; no value: not made yet */
    MW_VEC(MwNodeId) again; /* nodes of to that compute values again */
} Remat;

/* ---- Which values are recomputed ---- */

static bool is_norm(MwOp op)
{
    return op == MW_OP_LAYER_NORM || op == MW_OP_RMS_NORM;
}

static bool is_norm_gradient(MwOp op)
{
    return op == MW_OP_LAYER_NORM_GRAD || op == MW_OP_RMS_NORM_GRAD;
}

/* Whether one kernel can compute the node and the gradient of a norm. */
static bool fuses_with_norm_gradient(const MwNode *node)
{
    MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_REDUCE || lowering == MW_LOWER_ROWS;
}

/* [values] norms whose operand the backward reads for the gradient of the norm, and which it
 * uses only in nodes that fuse with that gradient. */
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
            is_stored[node->operands[k].index] |= !fuses_with_norm_gradient(node);
    }
    bool *norms = MW_NEW(graph->arena, bool, graph->values.count);
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *node = mw_value_node(graph, (MwValueId){v});
        norms[v] = is_norm(node->op) && has_gradient[node->operands[0].index] && !is_stored[v];
    }
    return norms;
}

/* Whether the node casts floats of 16 bits to f32. */
static bool widens(const MwGraph *graph, const MwNode *node)
{
    return node->op == MW_OP_CAST &&
           mw_type_is_half(mw_value_tensor(graph, node->operands[0])->type) &&
           mw_node_int(node, MW_ATTR_TYPE) == MW_F32;
}

/* [values] values that a node of another layer uses in the forward phase. */
static bool *find_layer_inputs(const MwGraph *graph)
{
    bool *layer_input = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++)
            if (node->phase == MW_PHASE_FORWARD &&
                mw_value_node(graph, node->operands[k])->origin.layer != node->origin.layer)
                layer_input[node->operands[k].index] = true;
    }
    return layer_input;
}

/* Whether the value is of a loop, or is what a loop gives. */
static bool runs_in_loop(const MwLoops *loops, const MwGraph *graph, MwValueId value)
{
    return loops->of_value[value.index] >= 0 ||
           loops->of_node[mw_value(graph, value)->node.index] >= 0;
}

/* [values] not kept for the backward. What a loop makes is kept: it would have to run again. */
static bool *find_recomputed(const MwCompilation *compilation)
{
    const MwGraph *graph = compilation->graph;
    const bool *layer_input = find_layer_inputs(graph), *norms = find_norms(graph);
    const bool splits = mw_staging_splits_backward(&compilation->staging);
    const bool none = splits || compilation->options.remat == MW_REMAT_NONE;
    const MwLoops loops = mw_loops(graph->arena, graph);
    bool *recomputed = MW_NEW(graph->arena, bool, graph->values.count);
    bool *may = MW_NEW(graph->arena, bool, graph->values.count);
    for (int v = 0; v < graph->values.count; v++) {
        const MwNode *node = mw_value_node(graph, (MwValueId){v});
        may[v] = node->phase == MW_PHASE_FORWARD && !mw_op_accumulates(node->op) &&
                 mw_op_info(node->op)->lowering != MW_LOWER_SOURCE &&
                 !runs_in_loop(&loops, graph, (MwValueId){v}) && !layer_input[v];
        bool is_cheap = (!none && norms[v]) || (!splits && widens(graph, node));
        const bool is_whole = mw_staging_remat(&compilation->staging, node) == MW_LAYER_RECOMPUTES;
        recomputed[v] = may[v] && (is_cheap || is_whole);
    }
    mw_remat_cut(compilation, may, !none, recomputed);
    for (int i = 0; i < graph->pins.count; i++) {
        const MwPin *pin = &graph->pins.at[i];
        const MwNode *node = mw_value_node(graph, pin->value);
        if (pin->remat >= 0 && node->phase == MW_PHASE_FORWARD &&
            !runs_in_loop(&loops, graph, pin->value) &&
            mw_op_info(node->op)->lowering != MW_LOWER_SOURCE)
            recomputed[pin->value.index] = pin->remat;
    }
    return recomputed;
}

/* ---- The graph ---- */

static MwValueId value_for_backward(Remat *r, MwValueId value);

/* Copies `node` to the backward, on operands as the backward has them. */
static void recompute(Remat *r, const MwNode *node)
{
    const MwGraph *from = r->rewrite.from;
    MwGraph *to = r->rewrite.to;
    MwValueId *operands = MW_NEW(to->arena, MwValueId, node->operand_count);
    const char **names = MW_NEW(to->arena, const char *, node->result_count);
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = value_for_backward(r, node->operands[k]);
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
        r->copy[node->first_result + k] = mw_node_result(to, id, k);
    mw_vec_push(from->arena, &r->again, id);
}

/* The form of a value that the backward uses: kept, or recomputed at its first use. */
static MwValueId value_for_backward(Remat *r, MwValueId value)
{
    if (!r->recomputed[value.index])
        return r->rewrite.value[value.index];
    if (!mw_has_value(r->copy[value.index]))
        recompute(r, mw_value_node(r->rewrite.from, value));
    return r->copy[value.index];
}

static void copy_node(Remat *r, const MwNode *node)
{
    MwValueId *operands = mw_rewrite_operands(&r->rewrite, node);
    bool is_backward = node->phase == MW_PHASE_BACKWARD || node->phase == MW_PHASE_BACKWARD_WEIGHT;
    for (int k = 0; k < node->operand_count && is_backward; k++)
        operands[k] = value_for_backward(r, node->operands[k]);
    mw_rewrite_copy_on(&r->rewrite, node, operands);
}

bool mw_pass_remat(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    const MwGraph *from = compilation->graph;
    Remat r = {.rewrite = mw_rewrite_begin(from), .recomputed = find_recomputed(compilation)};
    r.copy = MW_NEW(from->arena, MwValueId, from->values.count);
    memset(r.copy, -1, sizeof(MwValueId) * (size_t)from->values.count);
    for (int n = 0; n < from->nodes.count; n++)
        copy_node(&r, &from->nodes.at[n]);
    mw_rewrite_finish(&r.rewrite);
    bool *is_again = MW_NEW(compilation->arena, bool, r.rewrite.to->nodes.count);
    for (int i = 0; i < r.again.count; i++)
        is_again[r.again.at[i].index] = true;
    compilation->is_again = is_again;
    compilation->graph = r.rewrite.to;
    return true;
}
