/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adding nodes to the graph. */
#ifndef MW_FRONTEND_TERMS_EMIT_H
#define MW_FRONTEND_TERMS_EMIT_H

#include "frontend/terms/expander.h"

/* The number of values that the context of an expression takes, and the full names that its
 * outermost operator gives them. */
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
    const char *callee; /* what the source writes for it: "where", "'+'"; NULL: nothing */
} MwSite;

/* Returns what messages call `op` at the site. */
static inline const char *mw_site_callee(MwSite site, MwOp op)
{
    return site.callee ? site.callee : mw_op_info(op)->name;
}

/* Returns the site of a node that is a part of the operator at `site`. */
static inline MwSite mw_site_inner(MwSite site)
{
    return (MwSite){site.span, mw_one_value(), site.callee};
}

/* Returns the site of a node that computes value k of the `count` results of the operator at
 * `site`. */
static inline MwSite mw_site_part(MwSite site, int k, int count)
{
    bool named = site.targets.names && site.targets.count == count;
    return (MwSite){site.span, {named ? site.targets.names + k : NULL, 1}, site.callee};
}

/* Adds a node and returns its first result. Returns no value if an operand is no value, or after an
 * error. */
MwValueId mw_emit(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                  int operand_count, const MwAttr *attrs, int attr_count);
/* Adds a node with any number of results. Returns its result, or the list of its results. */
MwTerm mw_emit_all(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                   int operand_count, const MwAttr *attrs, int attr_count);
MwValueId mw_emit_unary(MwExpander *ex, MwSite site, MwOp op, MwValueId x);
MwValueId mw_emit_binary(MwExpander *ex, MwSite site, MwOp op, MwValueId a, MwValueId b);
/* Adds a scalar constant. */
MwValueId mw_emit_constant(MwExpander *ex, MwSite site, MwType type, double value);
MwValueId mw_emit_cast(MwExpander *ex, MwSite site, MwValueId x, MwType type);
/* Adds the element along `axis` that a step of the scan takes of `x`. */
MwValueId mw_emit_scan_in(MwExpander *ex, MwSite site, const MwScanSteps *in, MwValueId x,
                          int axis);
/* Adds `op`, a slice or pad of dimension `axis`. */
MwValueId mw_emit_range(MwExpander *ex, MwSite site, MwOp op, MwValueId x, int axis, int64_t begin,
                        int64_t end);
MwValueId mw_emit_concat(MwExpander *ex, MwSite site, const MwValueId *values, int count, int axis);
MwValueId mw_emit_broadcast(MwExpander *ex, MwSite site, MwValueId x, const MwTensor *shape);
/* Adds the positions along dimension `axis` of a tensor of the type and shape. */
MwValueId mw_emit_iota(MwExpander *ex, MwSite site, const MwTensor *tensor, int axis);
MwValueId mw_emit_transpose(MwExpander *ex, MwSite site, MwValueId x, const int64_t *perm);
MwValueId mw_emit_reshape(MwExpander *ex, MwSite site, MwValueId x, const MwTensor *shape);
MwValueId mw_emit_einsum(MwExpander *ex, MwSite site, const char *equation, MwValueId a,
                         MwValueId b);
/* Adds a source node called exactly `name`, in full. */
MwValueId mw_emit_source(MwExpander *ex, MwSpan span, const char *name, MwOp op,
                         const MwTensor *type, const MwAttr *attrs, int attr_count);

/* Applies `op` to terms. If all are constants, the result is folded; beside a tensor, constants
 * become nodes of its type. */
MwTerm mw_apply(MwExpander *ex, MwSite site, MwOp op, const MwTerm *terms, int count);
/* Turns the constants among `terms`, of which at least one is a tensor, into nodes. */
bool mw_promote(MwExpander *ex, MwSpan span, const MwTerm *terms, int count, MwValueId *values);

#endif
