/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of simplify by family, and what they share. */
#ifndef MW_PASSES_GRAPH_SIMPLIFY_RULES_H
#define MW_PASSES_GRAPH_SIMPLIFY_RULES_H

#include "ir/loops.h"
#include "ir/rewrite.h"

/* One node of rewrite->from, with its operands already in rewrite->to. */
typedef struct {
    MwRewrite *rewrite;
    const MwLoops *loops;     /* of rewrite->from */
    const bool *is_used_once; /* [values of from] by one node, and by nothing else */
    const bool *is_part;      /* [values of from] mw_simplify_find_parts */
    const MwNode *node;
    const MwValueId *operands; /* in rewrite->to */
} MwSimplifyContext;

/* Families of rules. Each returns a value of rewrite->to that equals the first result of the
 * node, for which it may add nodes; no value if it cannot simplify the node. */
MwValueId mw_simplify_constant(const MwSimplifyContext *context); /* simplify_constant.c */
MwValueId mw_simplify_identity(const MwSimplifyContext *context); /* simplify_identity.c */
MwValueId mw_simplify_loop(const MwSimplifyContext *context);     /* simplify_loop.c */
MwValueId mw_simplify_sums(const MwSimplifyContext *context);     /* simplify_sums.c */

/* [values] sums that devices may hold parts of and that one node uses: what an operator sums over a
 * factor, and what follows from such sums alone by linear operators. In the arena of the graph. */
bool *mw_simplify_find_parts(const MwGraph *graph, const bool *is_used_once);

/* Helpers of the families, in simplify_rules.c. */

/* True if every element of `value` is known to be `*constant`, which is then set. */
bool mw_value_is_constant(const MwGraph *graph, MwValueId value, double *constant);
/* The type of the first result. */
const MwTensor *mw_simplify_tensor(const MwSimplifyContext *context);
/* Adds a node with the name of the first result. */
MwValueId mw_simplify_emit(const MwSimplifyContext *context, MwOp op, const MwValueId *operands,
                           int operand_count, const MwAttr *attrs, int attr_count);

#endif
