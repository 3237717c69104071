/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of reductions and of operators along the last dimension. */
#include "passes/graph/gradients.h"

#include "ir/build.h"

/* The operand's shape with size 1 in the reduced dimensions. */
static MwTensor kept_shape(const MwGradient *g)
{
    MwTensor kept = mw_gradient_tensor(g, 0);
    const MwAttr *axes = mw_node_attr(&g->node, MW_ATTR_AXES);
    for (int i = 0; i < axes->ints.count; i++)
        kept.dim[axes->ints.at[i]] = 1;
    return kept;
}

void mw_gradient_reduce_sum(MwGradient *g)
{
    MwTensor kept = kept_shape(g), whole = mw_gradient_tensor(g, 0);
    MwValueId d = mw_build_cast(g->graph, g->results[0], g->types[0]);
    g->operands[0] = mw_build_broadcast(g->graph, mw_build_reshape(g->graph, d, &kept), &whole);
}

/* All elements equal to the maximum get equal shares. Where it is NaN none is, and all get NaN. */
void mw_gradient_reduce_max(MwGradient *g)
{
    MwGraph *graph = g->graph;
    MwTensor kept = kept_shape(g), whole = mw_gradient_tensor(g, 0);
    unsigned reduced = 0;
    for (int d = 0; d < kept.rank; d++)
        if (kept.dim[d] != whole.dim[d])
            reduced |= 1u << d;
    MwValueId most = mw_build_reshape(graph, mw_gradient_result(g, 0), &kept);
    MwValueId is_most = mw_build_cast(
        graph, mw_build_binary(graph, MW_OP_EQ, mw_gradient_operand(g, 0), most), whole.type);
    MwValueId sharers = mw_build_sum(graph, is_most, reduced, true);
    MwValueId d = mw_build_reshape(graph, g->results[0], &kept);
    MwValueId part = mw_build_binary(graph, MW_OP_DIV, d, sharers);
    g->operands[0] = mw_build_binary(graph, MW_OP_MUL, is_most, part);
}

void mw_gradient_logsumexp(MwGradient *g)
{
    MwValueId operands[] = {mw_gradient_operand(g, 0), mw_gradient_result(g, 0), g->results[0]};
    g->operands[0] = mw_build(g->graph, NULL, MW_OP_LOGSUMEXP_GRAD, operands, 3, NULL, 0);
}

/* Adds a gradient operator with operands (x or y, d) and the attributes of the node. */
static void gradient_by(MwGradient *g, MwOp op, MwValueId from)
{
    g->operands[0] = mw_build(g->graph, NULL, op, (MwValueId[]){from, g->results[0]}, 2,
                              g->node.attrs, g->node.attr_count);
}

void mw_gradient_softmax(MwGradient *g)
{
    gradient_by(g, MW_OP_SOFTMAX_GRAD, mw_gradient_result(g, 0));
}

void mw_gradient_log_softmax(MwGradient *g)
{
    gradient_by(g, MW_OP_LOG_SOFTMAX_GRAD, mw_gradient_result(g, 0));
}

void mw_gradient_layer_norm(MwGradient *g)
{
    gradient_by(g, MW_OP_LAYER_NORM_GRAD, mw_gradient_operand(g, 0));
}

void mw_gradient_rms_norm(MwGradient *g)
{
    gradient_by(g, MW_OP_RMS_NORM_GRAD, mw_gradient_operand(g, 0));
}
