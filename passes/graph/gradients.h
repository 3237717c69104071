/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of single operators: the `gradient` column of ir/ops.def. For
 * passes/graph/differentiate.c and passes/graph/gradients_*.c only. */
#ifndef MW_PASSES_GRAPH_GRADIENTS_H
#define MW_PASSES_GRAPH_GRADIENTS_H

#include "ir/ir.h"

/* The differentiation of one node y = f(x). Given the gradients of the loss by the results, the
 * rule adds nodes for the gradient by each operand that is wanted. A gradient has the type of
 * its value, with one exception: the gradient by a weight of 16 bits, or by a cast or another form
 * of a weight, is f32, because it is a sum over the batch to which more is added. `types` holds the
 * types. A rule that sums makes that type at once; the results of other rules are cast. */
typedef struct {
    MwGraph *graph;
    /* a copy, because the graph grows meanwhile; its operands, and `values`, its results, are the
     * values as the backward has them (differentiate_loop.c) */
    MwNode node;
    const MwValueId *values;
    /* [result_count] gradients by results; no value: zero. At least one is not zero */
    const MwValueId *results;
    const bool *wanted;  /* [operand_count] whether the gradient by the operand is needed */
    const MwType *types; /* [operand_count] types of the gradients by operands */
    /* [operand_count] gradients by operands, filled by the rule; no value: zero */
    MwValueId *operands;
    MwDiags *diags; /* takes an error if the node cannot be differentiated */
} MwGradient;

/* One rule for each name in the column. */
#define OP(id, name, operands, results, attrs, shape, sharding, combine, linear, padding,          \
           gradient, ...)                                                                          \
    void mw_gradient_##gradient(MwGradient *);
#include "ir/ops.def"

static inline MwValueId mw_gradient_operand(const MwGradient *g, int k)
{
    return g->node.operands[k];
}

static inline MwValueId mw_gradient_result(const MwGradient *g, int k)
{
    return g->values[k];
}

/* A copy of the type of operand `k`; pointers into the graph do not last while nodes are added. */
static inline MwTensor mw_gradient_tensor(const MwGradient *g, int k)
{
    return *mw_value_tensor(g->graph, g->node.operands[k]);
}

/* Sets the gradient by operand `k`, which was broadcast to the shape of `gradient`: sums over
 * the dimensions that were broadcast. */
void mw_gradient_unbroadcast(MwGradient *g, int k, MwValueId gradient);

#endif
