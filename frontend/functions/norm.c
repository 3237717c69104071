/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Norms over the batch and over groups of channels. */
#include "frontend/functions/expansions.h"
#include "frontend/functions/reduction.h"

bool mw_call_eps(MwExpander *ex, const MwCall *call, int k, double *eps)
{
    const bool is_list = mw_call_has(call, k) && call->given[k].term.kind == MW_TERM_LIST;
    if (!is_list && !mw_call_number(ex, call, k, 1e-5, eps))
        return false;
    if (!is_list && !(*eps >= 1))
        return true;
    mw_expand_error(ex, call->given[k].span,
                    "'eps' of %s is a number below 1, not %s: sizes are those of x, and are not "
                    "given",
                    call->callee, mw_term_describe(ex, call->given[k].term));
    return false;
}

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
    /* The variance does not change with the mean, as distances from it add up to 0: its gradient
     * needs no sum for that. */
    const MwAttr once = mw_attr_int(MW_ATTR_ONCE, true);
    const MwValueId mean = mw_emit(ex, inner, MW_OP_STOP_GRADIENT, &n.mean, 1, &once, 1);
    const MwValueId distance = mw_emit_binary(ex, inner, MW_OP_SUB, over->x, mean);
    square.x = mw_emit_binary(ex, inner, MW_OP_MUL, distance, distance);
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

/* Argument k as a number of equal parts of dimension `dim` of x, which becomes two dimensions; 1 if
 * it is not given, and x stays. */
static bool split_dim(MwExpander *ex, const MwCall *call, int k, int dim, MwValueId *x)
{
    MwTensor split = *mw_value_tensor(ex->graph, *x);
    int64_t parts;
    if (!mw_call_int(ex, call, k, 1, &parts))
        return false;
    if (parts == 1 && !call->formals[k].required)
        return true;
    if (parts < 1 || split.dim[dim] % parts != 0 || !mw_tensor_insert_dim(&split, dim, parts)) {
        mw_expand_error(ex, call->given[k].span,
                        "'%s' of %s cannot divide dimension %d of %s into %lld parts",
                        call->formals[k].name, call->callee, dim,
                        mw_term_describe(ex, call->given[0].term), (long long)parts);
        return false;
    }
    split.dim[dim + 1] /= parts;
    *x = mw_emit_reshape(ex, mw_site_inner(call->site), *x, &split);
    return mw_has_value(*x);
}

/* The mean of a figure [parts?, 1.., channels] over the parts, [channels]. */
static MwTerm channel_mean(MwExpander *ex, MwSite site, MwValueId x, bool has_parts)
{
    const MwTensor *tensor = mw_value_tensor(ex->graph, x);
    const MwTensor channels = mw_tensor(tensor->type, 1, &tensor->dim[tensor->rank - 1]);
    const MwReduced parts = {.x = x, .axis_count = has_parts, .keep = true};
    if (has_parts)
        x = mw_reduction_mean(ex, mw_site_inner(site), &parts, mw_reduction_count(ex, &parts));
    return mw_term_tensor(mw_emit_reshape(ex, site, x, &channels));
}

/* Over all dimensions but the last, of which each element is a channel; of each part of the batch
 * by itself, if there are parts (Hoffer et al., "Train longer, generalize better", 2017, algorithm
 * 1). The mean and the variance of each channel, which running statistics are made of, are further
 * results. */
MwTerm mw_function_batch_norm(MwExpander *ex, const MwCall *call)
{
    double eps;
    MwReduced over = {.keep = true};
    if (!read_channels(ex, call, 2, &over.x))
        return mw_term_none();
    const MwTensor x = *mw_value_tensor(ex->graph, over.x);
    if (!mw_call_eps(ex, call, 1, &eps) || !split_dim(ex, call, 2, 0, &over.x))
        return mw_term_none();
    const int rank = mw_value_tensor(ex->graph, over.x)->rank;
    const bool has_parts = rank > x.rank, all = call->site.targets.count == 3;
    for (int d = has_parts; d < rank - 1; d++)
        over.axes[over.axis_count++] = d;
    const MwSite inner = mw_site_inner(call->site);
    const MwSite first = all ? mw_site_part(call->site, 0, 3) : call->site;
    const MwSite sites[] = {has_parts ? inner : first, inner, inner};
    const Normalized n = normalize(ex, sites, &over, eps);
    const MwTerm y = mw_term_tensor(has_parts ? mw_emit_reshape(ex, first, n.y, &x) : n.y);
    if (!all || y.kind == MW_TERM_NONE)
        return y;
    MwTerm *terms = MW_NEW(ex->arena, MwTerm, 3);
    terms[0] = y;
    terms[1] = channel_mean(ex, mw_site_part(call->site, 1, 3), n.mean, has_parts);
    terms[2] = channel_mean(ex, mw_site_part(call->site, 2, 3), n.variance, has_parts);
    return mw_term_list(terms, 3);
}

/* Over all dimensions between the first and the last, and the channels of a group. */
MwTerm mw_function_group_norm(MwExpander *ex, const MwCall *call)
{
    double eps;
    MwReduced over = {.keep = true};
    if (!read_channels(ex, call, 2, &over.x))
        return mw_term_none();
    const MwTensor x = *mw_value_tensor(ex->graph, over.x);
    const int last = x.rank - 1;
    if (!split_dim(ex, call, 1, last, &over.x) || !mw_call_eps(ex, call, 2, &eps))
        return mw_term_none();
    for (int d = 1; d < last; d++)
        over.axes[over.axis_count++] = d;
    over.axes[over.axis_count++] = last + 1;
    const MwSite inner = mw_site_inner(call->site);
    const MwSite sites[] = {inner, inner, inner};
    const Normalized n = normalize(ex, sites, &over, eps);
    return mw_term_tensor(mw_emit_reshape(ex, call->site, n.y, &x));
}
