/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The legal graph: what each device of a mesh runs, in a form that the machine can run node by node
 * (codegen/legal/legalize.h makes it).
 *
 * It is a graph again, in which
 *   - views (reshape, transpose, slice, split, broadcast, shard) move no data: `views` says in
 *     which value's storage each value lies, and with which strides;
 *   - a contraction has two operands that a GEMM can take as they lie, a library operator has
 *     operands that its routine can take, both in f32, or in a type of 16 bits if the backend
 *     takes these; a collective works on dense blocks of its first dimension. Where the local graph
 *     is different, copies and casts stand before or after these nodes. Behind the operands of its
 *     operator, a library node has those that it waits for (the operator `run_after`);
 *   - one-operand contractions are reductions of transposes, and a combination of partial
 *     log-sum-exps is written out as exponentials, a sum and a logarithm.
 * A copy is a cast to the type that the value already has. */
#ifndef MW_CODEGEN_LEGAL_LEGAL_H
#define MW_CODEGEN_LEGAL_LEGAL_H

#include "base/backend.h"
#include "codegen/kernel/layout.h"
#include "ir/host.h"
#include "ir/loops.h"

typedef struct {
    MwValueId root;  /* the value whose storage holds it: the value itself unless it is a view */
    MwLayout layout; /* within that storage; the layout of an iota gives the number itself */
} MwView;

/* A weight in a shorter type, kept from step to step (codegen/legal/legalize_copies.h). */
typedef struct {
    MwValueId weight; /* of the local graph */
    MwValueId state;
    int assign; /* of the local graph: the one that gives the weight its new value */
} MwLegalCopy;

typedef struct {
    MwGraph *graph;
    const MwBackendInfo *backend; /* the devices that run it */
    MW_VEC(MwView) views;         /* [values] */
    MwValueId *form; /* [values of the local graph] the legal value that replaces it, if any */
    int form_count;
    MwLoops loops;       /* of the graph */
    const bool *on_host; /* [values] (ir/host.h) */
    MW_VEC(MwLegalCopy) copies;
    MW_VEC(int32_t) source; /* [nodes] index of the local node that the node is made from */
} MwLegal;

static inline const MwNode *mw_legal_at(const MwLegal *legal, int node)
{
    return &legal->graph->nodes.at[node];
}

/* The value whose storage holds `value`. */
static inline MwValueId mw_legal_root(const MwLegal *legal, MwValueId value)
{
    return legal->views.at[value.index].root;
}

static inline const MwTensor *mw_legal_operand_tensor(const MwLegal *legal, const MwNode *node,
                                                      int k)
{
    return mw_value_tensor(legal->graph, node->operands[k]);
}

static inline const MwView *mw_legal_operand_view(const MwLegal *legal, const MwNode *node, int k)
{
    return &legal->views.at[node->operands[k].index];
}

/* The one result of a node. */
static inline MwValueId mw_legal_result(const MwNode *node)
{
    return (MwValueId){node->first_result};
}

static inline const MwTensor *mw_legal_result_tensor(const MwLegal *legal, const MwNode *node)
{
    return mw_value_tensor(legal->graph, mw_legal_result(node));
}

/* Whether operand k of `node` covers the stored value `root` whole, in the order in which it is
 * stored. */
bool mw_legal_takes_whole(const MwLegal *legal, const MwNode *node, int k, MwValueId root);

/* [values] in `arena`: whether a value leaves the step, as an output, a new value of a weight or
 * state, or a metric, or is the root of one that does. */
bool *mw_legal_leaving(MwArena *arena, const MwLegal *legal);

#endif
