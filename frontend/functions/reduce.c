/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that reduce, and those that work along one dimension. */
#include "frontend/functions/expansions.h"

/* ---- reductions ---- */

/* The axes of a reduction, ascending; all of them if none are given. */
static bool read_axes(MwExpander *ex, const MwCall *call, MwValueId x, int64_t *axes, int *count)
{
    int rank = mw_value_tensor(ex->graph, x)->rank, given_count;
    int64_t *given;
    bool chosen[MW_MAX_RANK] = {0};
    if (mw_call_has(call, 1)) {
        if (!mw_want_ints(ex, call->given[1].term, mw_call_want(ex, call, 1), &given, &given_count))
            return false;
        for (int i = 0; i < given_count; i++) {
            int axis;
            if (!mw_axis_normalize(ex, call->given[1].span, call->callee, x, given[i], &axis))
                return false;
            chosen[axis] = true;
        }
    }
    *count = 0;
    for (int d = 0; d < rank; d++)
        if (chosen[d] || !mw_call_has(call, 1))
            axes[(*count)++] = d;
    return true;
}

typedef struct {
    MwValueId x;
    int64_t axes[MW_MAX_RANK];
    int axis_count;
    bool keep;
} Reduction;

static bool read_reduction(MwExpander *ex, const MwCall *call, Reduction *reduction)
{
    *reduction = (Reduction){0};
    return mw_call_tensor(ex, call, 0, &reduction->x) &&
           read_axes(ex, call, reduction->x, reduction->axes, &reduction->axis_count) &&
           (!mw_call_has(call, 2) ||
            mw_want_bool(ex, call->given[2].term, mw_call_want(ex, call, 2), &reduction->keep));
}

/* Adds a reduction; over no dimension it is its operand. */
static MwValueId emit_reduce(MwExpander *ex, MwSite site, MwOp op, const Reduction *r)
{
    if (!r->axis_count)
        return r->x;
    MwAttr attrs[] = {mw_attr_ints(MW_ATTR_AXES, r->axes, r->axis_count),
                      mw_attr_int(MW_ATTR_KEEP, r->keep)};
    return mw_emit(ex, site, op, &r->x, 1, attrs, MW_COUNT(attrs));
}

MwTerm mw_function_sum(MwExpander *ex, const MwCall *call)
{
    Reduction r;
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    return mw_term_tensor(emit_reduce(ex, call->site, MW_OP_REDUCE_SUM, &r));
}

MwTerm mw_function_max(MwExpander *ex, const MwCall *call)
{
    Reduction r;
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    return mw_term_tensor(emit_reduce(ex, call->site, MW_OP_REDUCE_MAX, &r));
}

MwTerm mw_function_mean(MwExpander *ex, const MwCall *call)
{
    Reduction r;
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    MwTensor x = *mw_value_tensor(ex->graph, r.x);
    if (!mw_type_is_float(x.type)) {
        mw_expand_error(ex, call->given[0].span, "mean needs a floating-point type, not %s",
                        mw_term_describe(ex, call->given[0].term));
        return mw_term_none();
    }
    double count = 1;
    for (int i = 0; i < r.axis_count; i++)
        count *= (double)x.dim[r.axes[i]];
    MwSite inner = mw_site_inner(call->site);
    MwValueId sum = emit_reduce(ex, inner, MW_OP_REDUCE_SUM, &r);
    MwValueId scale = mw_emit_constant(ex, inner, x.type, 1 / count);
    return mw_term_tensor(mw_emit_binary(ex, call->site, MW_OP_MUL, sum, scale));
}

/* ---- along one dimension ---- */

/* Moves dimension `axis` to the end; back again with `back`. */
static MwValueId move_axis(MwExpander *ex, MwSite site, MwValueId x, int rank, int axis, bool back)
{
    int64_t perm[MW_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        int from = d == rank - 1 ? axis : d < axis ? d : d + 1;
        if (back)
            perm[from] = d;
        else
            perm[d] = from;
    }
    return mw_emit_transpose(ex, site, x, perm);
}

/* Applies an operator that works along the last dimension along `axis`, by transposing if need
 * be. */
static MwTerm along_axis(MwExpander *ex, const MwCall *call, MwOp op, bool keeps_axis)
{
    MwValueId x;
    int axis;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 1, x, -1, &axis))
        return mw_term_none();
    int rank = mw_value_tensor(ex->graph, x)->rank;
    MwSite inner = mw_site_inner(call->site);
    if (axis == rank - 1)
        return mw_term_tensor(mw_emit_unary(ex, call->site, op, x));
    MwValueId moved = move_axis(ex, inner, x, rank, axis, false);
    if (!keeps_axis)
        return mw_term_tensor(mw_emit_unary(ex, call->site, op, moved));
    MwValueId done = mw_emit_unary(ex, inner, op, moved);
    return mw_term_tensor(move_axis(ex, call->site, done, rank, axis, true));
}

MwTerm mw_function_softmax(MwExpander *ex, const MwCall *call)
{
    return along_axis(ex, call, MW_OP_SOFTMAX, true);
}

MwTerm mw_function_log_softmax(MwExpander *ex, const MwCall *call)
{
    return along_axis(ex, call, MW_OP_LOG_SOFTMAX, true);
}

MwTerm mw_function_logsumexp(MwExpander *ex, const MwCall *call)
{
    return along_axis(ex, call, MW_OP_LOGSUMEXP, false);
}
