/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Norms over the batch and over groups of channels. */
#include "frontend/functions/expansions.h"
#include "frontend/functions/reduction.h"

/* x less its mean over some axes, over its deviation there; the mean and the variance, with size 1
 * in these axes. */
typedef struct {
    MwValueId y, mean, variance;
} Normalized;

/* `sites` are those of the results, in their order. */
static Normalized normalize(MwExpander *ex, const MwSite sites[3], const MwReduced *over,
                            double eps)
{
    const MwSite inner = mw_site_inner(sites[0]);
    const MwType type = mw_value_tensor(ex->graph, over->x)->type;
    const double count = mw_reduction_count(ex, over);
    MwReduced square = *over;
    Normalized n;
    n.mean = mw_reduction_mean(ex, sites[1], over, count);
    const MwValueId centred = mw_emit_binary(ex, inner, MW_OP_SUB, over->x, n.mean);
    square.x = mw_emit_binary(ex, inner, MW_OP_MUL, centred, centred);
    n.variance = mw_reduction_mean(ex, sites[2], &square, count);
    const MwValueId least = mw_emit_constant(ex, inner, type, eps);
    const MwValueId scale = mw_emit_unary(ex, inner, MW_OP_RSQRT,
                                          mw_emit_binary(ex, inner, MW_OP_ADD, n.variance, least));
    n.y = mw_emit_binary(ex, sites[0], MW_OP_MUL, centred, scale);
    return n;
}

/* Argument 0 as a float tensor of at least `rank` dimensions. */
static bool read_channels(MwExpander *ex, const MwCall *call, int rank, MwValueId *x)
{
    if (!mw_call_tensor(ex, call, 0, x))
        return false;
    const MwTensor *tensor = mw_value_tensor(ex->graph, *x);
    if (tensor->rank >= rank && mw_type_is_float(tensor->type))
        return true;
    mw_expand_error(
        ex, call->given[0].span,
        "%s needs float numbers [batch, .., channels] of at least %d dimensions, not %s",
        call->callee, rank, mw_term_describe(ex, call->given[0].term));
    return false;
}

/* Over all dimensions but the last, of which each element is a channel. The mean and the variance
 * of each channel, which running statistics are made of, are further results. */
MwTerm mw_function_batch_norm(MwExpander *ex, const MwCall *call)
{
    double eps;
    MwReduced over = {.keep = true};
    if (!read_channels(ex, call, 2, &over.x) || !mw_call_number(ex, call, 1, 1e-5, &eps))
        return mw_term_none();
    const MwTensor x = *mw_value_tensor(ex->graph, over.x);
    for (; over.axis_count < x.rank - 1; over.axis_count++)
        over.axes[over.axis_count] = over.axis_count;
    const bool all = call->site.targets.count == 3;
    const MwSite inner = mw_site_inner(call->site);
    const MwSite sites[] = {all ? mw_site_part(call->site, 0, 3) : call->site, inner, inner};
    const Normalized n = normalize(ex, sites, &over, eps);
    if (!all)
        return mw_term_tensor(n.y);
    const MwTensor channels = mw_tensor(x.type, 1, &x.dim[x.rank - 1]);
    MwTerm *terms = MW_NEW(ex->arena, MwTerm, 3);
    terms[0] = mw_term_tensor(n.y);
    terms[1] =
        mw_term_tensor(mw_emit_reshape(ex, mw_site_part(call->site, 1, 3), n.mean, &channels));
    terms[2] =
        mw_term_tensor(mw_emit_reshape(ex, mw_site_part(call->site, 2, 3), n.variance, &channels));
    return mw_term_list(terms, 3);
}

/* Over all dimensions between the first and the last, and the channels of a group. */
MwTerm mw_function_group_norm(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    double eps;
    int64_t groups;
    if (!read_channels(ex, call, 2, &x) ||
        !mw_want_int(ex, call->given[1].term, mw_call_want(ex, call, 1), &groups) ||
        !mw_call_number(ex, call, 2, 1e-5, &eps))
        return mw_term_none();
    const MwTensor whole = *mw_value_tensor(ex->graph, x);
    const int last = whole.rank - 1;
    if (groups < 1 || whole.dim[last] % groups != 0 || whole.rank == MW_MAX_RANK) {
        mw_expand_error(ex, call->given[1].span,
                        "group_norm cannot divide %lld channels into %lld groups",
                        (long long)whole.dim[last], (long long)groups);
        return mw_term_none();
    }
    MwTensor grouped = whole;
    grouped.rank++;
    grouped.dim[last] = groups;
    grouped.dim[last + 1] = whole.dim[last] / groups;
    MwReduced over = {.keep = true};
    for (int d = 1; d < last; d++)
        over.axes[over.axis_count++] = d;
    over.axes[over.axis_count++] = last + 1;
    const MwSite inner = mw_site_inner(call->site);
    const MwSite sites[] = {inner, inner, inner};
    over.x = mw_emit_reshape(ex, inner, x, &grouped);
    if (!mw_has_value(over.x))
        return mw_term_none();
    const Normalized n = normalize(ex, sites, &over, eps);
    return mw_term_tensor(mw_emit_reshape(ex, call->site, n.y, &whole));
}
