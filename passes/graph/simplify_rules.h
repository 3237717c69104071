/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of simplify by family, and what they share. */
#ifndef MW_PASSES_GRAPH_SIMPLIFY_RULES_H
#define MW_PASSES_GRAPH_SIMPLIFY_RULES_H

#include "ir/rewrite.h"

/* One node of rewrite->from, its operands already in rewrite->to. */
typedef struct {
    MwRewrite *rewrite;
    const MwNode *node;
    const MwValueId *operands; /* in rewrite->to */
} MwSimplifyContext;

/* A family of rules: a value of rewrite->to that equals the first result of the node, perhaps by new
 * nodes; no value if there is nothing to simplify. */
MwValueId mw_simplify_constant(const MwSimplifyContext *context); /* simplify_constant.c */
MwValueId mw_simplify_identity(const MwSimplifyContext *context); /* simplify_identity.c */

/* What the families call, in simplify_rules.c. */

/* True if every element of `value` is known to be `*constant`. */
bool mw_value_is_constant(const MwGraph *graph, MwValueId value, double *constant);
/* The type of the first result. */
const MwTensor *mw_simplify_tensor(const MwSimplifyContext *context);
/* A new node with the name of the first result. */
MwValueId mw_simplify_emit(const MwSimplifyContext *context, MwOp op, const MwValueId *operands,
                           int operand_count, const MwAttr *attrs, int attr_count);

#endif
