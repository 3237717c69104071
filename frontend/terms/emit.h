/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding nodes to the graph. */
#ifndef MW_FRONTEND_TERMS_EMIT_H
#define MW_FRONTEND_TERMS_EMIT_H

#include "frontend/terms/expander.h"

/* How many values the context of an expression takes, and the full names that its outermost
 * operator gives to them. */
typedef struct {
    const char *const *names; /* [count]; NULL: made up */
    int count;
} MwTargets;

static inline MwTargets mw_one_value(void)
{
    return (MwTargets){NULL, 1};
}

/* Where a node comes from and what its values are called. */
typedef struct {
    MwSpan span;
    MwTargets targets;
} MwSite;

/* The site of a node that the one at `site` is made of. */
static inline MwSite mw_site_inner(MwSite site)
{
    return (MwSite){site.span, mw_one_value()};
}

/* The site of value k of the `count` that the one at `site` gives. */
static inline MwSite mw_site_part(MwSite site, int k, int count)
{
    bool named = site.targets.names && site.targets.count == count;
    return (MwSite){site.span, {named ? site.targets.names + k : NULL, 1}};
}

/* Adds a node. No value if an operand has none, or after an error. */
MwValueId mw_emit(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                  int operand_count, const MwAttr *attrs, int attr_count);
/* The same for an operator of any number of results: a tensor, or a list of them. */
MwTerm mw_emit_all(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                   int operand_count, const MwAttr *attrs, int attr_count);
MwValueId mw_emit_unary(MwExpander *ex, MwSite site, MwOp op, MwValueId x);
MwValueId mw_emit_binary(MwExpander *ex, MwSite site, MwOp op, MwValueId a, MwValueId b);
/* A scalar. */
MwValueId mw_emit_constant(MwExpander *ex, MwSite site, MwType type, double value);
MwValueId mw_emit_transpose(MwExpander *ex, MwSite site, MwValueId x, const int64_t *perm);
MwValueId mw_emit_reshape(MwExpander *ex, MwSite site, MwValueId x, const MwTensor *shape);
MwValueId mw_emit_einsum(MwExpander *ex, MwSite site, const char *equation, MwValueId a,
                         MwValueId b);
/* Adds a source node called exactly `name`, in full. */
MwValueId mw_emit_source(MwExpander *ex, MwSpan span, const char *name, MwOp op,
                         const MwTensor *type, const MwAttr *attrs, int attr_count);

/* `op` on terms: constants are folded; beside a tensor they become nodes of its type. */
MwTerm mw_apply(MwExpander *ex, MwSite site, MwOp op, const MwTerm *terms, int count);
/* Turns the constants among `terms`, of which at least one is a tensor, into nodes. */
bool mw_promote(MwExpander *ex, MwSpan span, const MwTerm *terms, int count, MwValueId *values);

#endif
