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
    bool causal;
    double scale, head = q->rank ? (double)q->dim[q->rank - 1] : 1;
    if (!mw_call_flag(ex, call, 3, false, &causal) ||
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
    int64_t key;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_number(ex, call, 1, 0, &rate) ||
        !mw_call_int(ex, call, 2, ex->next_key, &key))
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
