/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the local graph to one that the machine can run node by node.
 *
 * What comes out is a graph again, in which
 *   - views (reshape, transpose, slice, split, broadcast, shard) are views of what is stored, never
 *     copies: `views` says which value's storage each value lies in, and how;
 *   - a contraction has two operands that a GEMM can take as they lie, attention operands whose
 *     rows it can walk, both of f32, or of bf16 where the target takes that; a collective works on
 *     dense blocks of its first dimension: where that was not so, copies and casts stand before or
 *     after them;
 *   - one-operand contractions are reductions of transposes, and a combination of partial
 *     log-sum-exps is written out.
 * A copy is a cast to the type that the value has. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZE_H
#define MW_CODEGEN_LEGAL_LEGALIZE_H

#include "codegen/kernel/layout.h"
#include "codegen/target.h"
#include "ir/ir.h"

typedef struct {
    /* The value whose elements it shows; itself, unless it is a view. Of an iota the layout gives
     * the number itself instead of its place, of a constant nothing. */
    MwValueId root;
    MwLayout layout;
} MwView;

typedef struct {
    MwGraph *graph;
    const MwTarget *target; /* what will run it */
    MW_VEC(MwView) views;   /* [values] */
    MwValueId *form;        /* [values of the local graph] its form here */
    MW_VEC(int32_t) source; /* [nodes] index of the local node it is made from */
} MwLegal;

MwLegal *mw_legalize(const MwGraph *local, const MwTarget *target);

static inline const MwNode *mw_legal_at(const MwLegal *legal, int node)
{
    return &legal->graph->nodes.at[node];
}

/* The value in whose storage `value` lies. */
static inline MwValueId mw_legal_root(const MwLegal *legal, MwValueId value)
{
    return legal->views.at[value.index].root;
}

static inline const MwTensor *mw_legal_operand_tensor(const MwLegal *legal, const MwNode *node,
                                                      int k)
{
    return mw_value_tensor(legal->graph, node->operands[k]);
}

/* Constants, iotas and the step number are not stored: whoever needs one computes it. */
bool mw_op_is_generator(MwOp op);

#endif
