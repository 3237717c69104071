/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients of single operators: the `gradient` column of ir/ops.def. Included by
 * passes/graph/differentiate.c and passes/gradients_*.c alone. */
#ifndef MW_PASSES_GRAPH_GRADIENTS_H
#define MW_PASSES_GRAPH_GRADIENTS_H

#include "ir/ir.h"

/* One node y = f(x), differentiated: given the gradient of the loss by each result, the rule adds
 * nodes for the gradient by each operand that is wanted. A gradient has the type of its value, but
 * that by a bf16 weight, or by a cast or another form of a weight, has f32: it is a sum over the
 * batch, to which more is added. `types` says which; a rule that sums gives it at once, what others
 * give is cast. */
typedef struct {
    MwGraph *graph;
    MwNode node;              /* a copy: the graph grows meanwhile */
    const MwValueId *results; /* [result_count] gradients; no value: zero. Not all are */
    const bool *wanted;       /* [operand_count] */
    const MwType *types;      /* [operand_count] of the gradients by operands */
    MwValueId *operands;      /* [operand_count], to be filled; no value: zero */
    MwDiags *diags;           /* a rule that cannot adds an error */
} MwGradient;

/* One rule for each name in the column. */
#define OP(id, name, operands, results, attrs, shape, sharding, combine, linear, gradient, ...)    \
    void mw_gradient_##gradient(MwGradient *);
#include "ir/ops.def"

static inline MwValueId mw_gradient_operand(const MwGradient *g, int k)
{
    return g->node.operands[k];
}

static inline MwValueId mw_gradient_result(const MwGradient *g, int k)
{
    return (MwValueId){g->node.first_result + k};
}

/* A copy of the type of operand `k`; pointers into the graph do not last. */
static inline MwTensor mw_gradient_tensor(const MwGradient *g, int k)
{
    return *mw_value_tensor(g->graph, g->node.operands[k]);
}

/* Operand `k` was broadcast to the shape of `gradient`: sums back over what was stretched. */
void mw_gradient_unbroadcast(MwGradient *g, int k, MwValueId gradient);

#endif
