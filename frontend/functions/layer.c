/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions for the layers of networks: activations, norms, attention, positions, dropout. */
#include "frontend/functions/expansions.h"

#include <math.h>

MwTerm mw_function_where(MwExpander *ex, const MwCall *call)
{
    MwTerm terms[] = {call->given[0].term, call->given[1].term, call->given[2].term};
    return mw_apply(ex, call->site, MW_OP_SELECT, terms, 3);
}

MwTerm mw_function_select(MwExpander *ex, const MwCall *call)
{
    return mw_function_where(ex, call);
}

MwTerm mw_function_gelu(MwExpander *ex, const MwCall *call)
{
    static const char *const names[] = {"none", "tanh"};
    static const MwOp ops[] = {MW_OP_GELU, MW_OP_GELU_TANH};
    int choice = mw_call_choice(ex, call, 1, names, MW_COUNT(names), 0);
    if (choice < 0)
        return mw_term_none();
    return mw_apply(ex, call->site, ops[choice], &call->given[0].term, 1);
}

/* Adds `op` on argument 0 with argument 1 as its float attribute `key`. */
static MwTerm with_number(MwExpander *ex, const MwCall *call, MwOp op, MwAttrKey key,
                          double fallback)
{
    MwValueId x;
    double value;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_number(ex, call, 1, fallback, &value))
        return mw_term_none();
    MwAttr attr = mw_attr_float(key, value);
    return mw_call_emit(ex, call, op, &x, 1, &attr, 1);
}

MwTerm mw_function_layer_norm(MwExpander *ex, const MwCall *call)
{
    return with_number(ex, call, MW_OP_LAYER_NORM, MW_ATTR_EPS, 1e-5);
}

MwTerm mw_function_rms_norm(MwExpander *ex, const MwCall *call)
{
    return with_number(ex, call, MW_OP_RMS_NORM, MW_ATTR_EPS, 1e-5);
}

/* x less its mean over some axes, over its deviation there; the mean and the variance, with size 1
 * in these axes. */
typedef struct {
    MwValueId y, mean, variance;
} Normalized;

static MwValueId mean_over(MwExpander *ex, MwSite site, MwValueId x, const int64_t *axes, int count)
{
    const MwTensor type = *mw_value_tensor(ex->graph, x);
    const MwAttr attrs[] = {mw_attr_ints(MW_ATTR_AXES, axes, count),
                            mw_attr_int(MW_ATTR_KEEP, true)};
    double elements = 1;
    for (int i = 0; i < count; i++)
        elements *= (double)type.dim[axes[i]];
    const MwValueId sum = mw_emit(ex, mw_site_inner(site), MW_OP_REDUCE_SUM, &x, 1, attrs, 2);
    return mw_emit_binary(ex, site, MW_OP_MUL, sum,
                          mw_emit_constant(ex, mw_site_inner(site), type.type, 1 / elements));
}

/* `sites` are those of the results, in their order. */
static Normalized normalize(MwExpander *ex, const MwSite sites[3], MwValueId x, const int64_t *axes,
                            int count, double eps)
{
    const MwSite inner = mw_site_inner(sites[0]);
    const MwType type = mw_value_tensor(ex->graph, x)->type;
    Normalized n;
    n.mean = mean_over(ex, sites[1], x, axes, count);
    const MwValueId centred = mw_emit_binary(ex, inner, MW_OP_SUB, x, n.mean);
    const MwValueId square = mw_emit_binary(ex, inner, MW_OP_MUL, centred, centred);
    n.variance = mean_over(ex, sites[2], square, axes, count);
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
    MwValueId x;
    double eps;
    int64_t axes[MW_MAX_RANK];
    if (!read_channels(ex, call, 2, &x) || !mw_call_number(ex, call, 1, 1e-5, &eps))
        return mw_term_none();
    const int count = mw_value_tensor(ex->graph, x)->rank - 1;
    for (int d = 0; d < count; d++)
        axes[d] = d;
    const bool all = call->site.targets.count == 3;
    const MwSite inner = mw_site_inner(call->site);
    const MwSite sites[] = {all ? mw_site_part(call->site, 0, 3) : call->site, inner, inner};
    const Normalized n = normalize(ex, sites, x, axes, count, eps);
    if (!all)
        return mw_term_tensor(n.y);
    MwTensor channels = mw_tensor(mw_value_tensor(ex->graph, x)->type, 1,
                                  &mw_value_tensor(ex->graph, x)->dim[count]);
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
    int64_t groups, axes[MW_MAX_RANK];
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
    for (int d = 1; d < last; d++)
        axes[d - 1] = d;
    axes[last - 1] = last + 1;
    const MwSite inner = mw_site_inner(call->site);
    const MwSite sites[] = {inner, inner, inner};
    const Normalized n =
        normalize(ex, sites, mw_emit_reshape(ex, inner, x, &grouped), axes, last, eps);
    return mw_term_tensor(mw_emit_reshape(ex, call->site, n.y, &whole));
}

MwTerm mw_function_rope(MwExpander *ex, const MwCall *call)
{
    return with_number(ex, call, MW_OP_ROPE, MW_ATTR_BASE, 10000);
}

/* Adds the node. The call gives both results only if it is assigned to two names, otherwise only
 * the first. */
static MwTerm emit_attention(MwExpander *ex, const MwCall *call, const MwValueId *operands,
                             const MwAttr *attrs)
{
    MwTargets targets = call->site.targets;
    MwCall both = *call;
    const char *names[2];
    if (targets.names && targets.count == 1) {
        names[0] = targets.names[0];
        names[1] = mw_intern_printf(ex->interner, "%s.lse", names[0]);
        both.site.targets = (MwTargets){names, 2};
    }
    MwTerm results = mw_call_emit(ex, &both, MW_OP_SDPA, operands, 3, attrs, 2);
    return results.kind == MW_TERM_LIST && targets.count == 1 ? results.list.at[0] : results;
}

MwTerm mw_function_sdpa(MwExpander *ex, const MwCall *call)
{
    MwValueId operands[3];
    for (int k = 0; k < 3; k++)
        if (!mw_call_tensor(ex, call, k, &operands[k]))
            return mw_term_none();
    const MwTensor *q = mw_value_tensor(ex->graph, operands[0]);
    bool causal = false;
    double scale, head = q->rank ? (double)q->dim[q->rank - 1] : 1;
    if ((mw_call_has(call, 3) &&
         !mw_want_bool(ex, call->given[3].term, mw_call_want(ex, call, 3), &causal)) ||
        !mw_call_number(ex, call, 4, 1 / sqrt(head), &scale))
        return mw_term_none();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_CAUSAL, causal), mw_attr_float(MW_ATTR_SCALE, scale)};
    return emit_attention(ex, call, operands, attrs);
}

/* Every call has a random stream of its own, named by its key. */
MwTerm mw_function_dropout(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    double rate;
    int64_t key = ex->next_key;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_number(ex, call, 1, 0, &rate) ||
        (mw_call_has(call, 2) &&
         !mw_want_int(ex, call->given[2].term, mw_call_want(ex, call, 2), &key)))
        return mw_term_none();
    if (rate == 0 && !mw_call_has(call, 2))
        return call->given[0].term;
    ex->next_key += !mw_call_has(call, 2);
    MwAttr attrs[] = {mw_attr_float(MW_ATTR_RATE, rate), mw_attr_int(MW_ATTR_KEY, key)};
    return mw_call_emit(ex, call, MW_OP_DROPOUT, &x, 1, attrs, MW_COUNT(attrs));
}

/* x, or the bound where `op` holds between them. */
static MwTerm bounded(MwExpander *ex, MwSite site, MwTerm x, MwOp op, MwTerm bound)
{
    MwTerm beyond = mw_apply(ex, mw_site_inner(site), op, (MwTerm[]){x, bound}, 2);
    if (beyond.kind == MW_TERM_NONE)
        return beyond;
    return mw_apply(ex, site, MW_OP_SELECT, (MwTerm[]){beyond, bound, x}, 3);
}

/* At a bound the gradient passes, as in PyTorch. */
MwTerm mw_function_clip(MwExpander *ex, const MwCall *call)
{
    MwTerm x = call->given[0].term;
    MwSite low_site = mw_call_has(call, 2) ? mw_site_inner(call->site) : call->site;
    if (!mw_call_has(call, 1) && !mw_call_has(call, 2))
        mw_expand_error(ex, call->site.span, "clip needs 'low', 'high' or both");
    if (mw_call_has(call, 1))
        x = bounded(ex, low_site, x, MW_OP_LT, call->given[1].term);
    if (x.kind != MW_TERM_NONE && mw_call_has(call, 2))
        x = bounded(ex, call->site, x, MW_OP_GT, call->given[2].term);
    return x;
}
