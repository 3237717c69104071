/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers, new ones in each step. Every call has random streams of its own, named by their
 * keys. No gradient passes to the numbers, but one does to what scales and moves them. */
#include "frontend/functions/expansions.h"

#include <math.h>

/* Argument 0, the shape of the numbers. */
static bool read_shape(MwExpander *ex, const MwCall *call, int64_t **shape, int *rank)
{
    if (!mw_call_ints(ex, call, 0, shape, rank))
        return false;
    for (int d = 0; d < *rank; d++) {
        if ((*shape)[d] > 0)
            continue;
        mw_expand_note(ex, mw_span_none(), "the shape comes first, as in %s([4, 8])", call->callee);
        mw_expand_error(ex, call->given[0].span, "sizes in 'shape' of %s are at least 1, not %lld",
                        call->callee, (long long)(*shape)[d]);
        return false;
    }
    return true;
}

/* Adds numbers in [0, 1), of the shape that argument 0 is. */
static MwTerm emit_uniform(MwExpander *ex, const MwCall *call, MwSite site, int64_t key)
{
    MwCall at = *call;
    int64_t *shape;
    int rank;
    at.site = site;
    if (!read_shape(ex, call, &shape, &rank))
        return mw_term_none();
    const MwAttr attrs[] = {mw_attr_ints(MW_ATTR_SHAPE, shape, rank),
                            mw_attr_int(MW_ATTR_KEY, key)};
    return mw_call_emit(ex, &at, MW_OP_UNIFORM, NULL, 0, attrs, MW_COUNT(attrs));
}

static MwTerm apply(MwExpander *ex, MwSite site, MwOp op, MwTerm a, MwTerm b)
{
    return mw_apply(ex, site, op, (MwTerm[]){a, b}, mw_op_info(op)->operands);
}

static MwTerm argument(const MwCall *call, int k, MwTerm fallback)
{
    return mw_call_has(call, k) ? call->given[k].term : fallback;
}

/* `x`, if it has the shape of `noise`: that which the call names. */
static MwTerm shaped(MwExpander *ex, const MwCall *call, MwTerm noise, MwTerm x)
{
    if (x.kind == MW_TERM_NONE || mw_tensor_same_shape(mw_value_tensor(ex->graph, noise.value),
                                                       mw_value_tensor(ex->graph, x.value)))
        return x;
    mw_expand_error(ex, call->site.span, "%s names the shape of %s, but gives %s", call->callee,
                    mw_term_describe(ex, noise), mw_term_describe(ex, x));
    return mw_term_none();
}

/* noise * scale + place */
static MwTerm moved(MwExpander *ex, const MwCall *call, MwTerm noise, MwTerm scale, MwTerm place)
{
    const MwTerm scaled = apply(ex, mw_site_inner(call->site), MW_OP_MUL, noise, scale);
    return shaped(ex, call, noise, apply(ex, call->site, MW_OP_ADD, scaled, place));
}

MwTerm mw_function_uniform(MwExpander *ex, const MwCall *call)
{
    int64_t key;
    if (!mw_call_int(ex, call, 3, ex->next_key, &key))
        return mw_term_none();
    ex->next_key += !mw_call_has(call, 3);
    if (!mw_call_has(call, 1) && !mw_call_has(call, 2))
        return emit_uniform(ex, call, call->site, key);
    const MwTerm low = argument(call, 1, mw_term_int(0)), high = argument(call, 2, mw_term_int(1));
    const MwSite inner = mw_site_inner(call->site);
    const MwTerm noise = emit_uniform(ex, call, inner, key);
    return moved(ex, call, noise, apply(ex, inner, MW_OP_SUB, high, low), low);
}

/* sqrt(-2 log(1 - u)) cos(2 pi v) of two numbers in [0, 1) (Box and Muller, "A note on the
 * generation of random normal deviates", 1958). The greatest is 5.8. */
MwTerm mw_function_normal(MwExpander *ex, const MwCall *call)
{
    const MwSite inner = mw_site_inner(call->site);
    const MwTerm none = mw_term_none();
    const bool is_plain = !mw_call_has(call, 1) && !mw_call_has(call, 2);
    MwTerm u = emit_uniform(ex, call, inner, ex->next_key++);
    if (u.kind == MW_TERM_NONE)
        return none;
    MwTerm v = emit_uniform(ex, call, inner, ex->next_key++);
    u = apply(ex, inner, MW_OP_SUB, mw_term_int(1), u);
    u = apply(ex, inner, MW_OP_MUL, apply(ex, inner, MW_OP_LOG, u, none), mw_term_int(-2));
    v = apply(ex, inner, MW_OP_MUL, v, mw_term_float(2 * M_PI));
    const MwTerm radius = apply(ex, inner, MW_OP_SQRT, u, none);
    const MwTerm noise = apply(ex, is_plain ? call->site : inner, MW_OP_MUL, radius,
                               apply(ex, inner, MW_OP_COS, v, none));
    if (is_plain)
        return noise;
    return moved(ex, call, noise, argument(call, 2, mw_term_int(1)),
                 argument(call, 1, mw_term_int(0)));
}

MwTerm mw_function_bernoulli(MwExpander *ex, const MwCall *call)
{
    const MwTerm p = argument(call, 1, mw_term_float(0.5));
    const MwTerm noise = emit_uniform(ex, call, mw_site_inner(call->site), ex->next_key++);
    if (mw_term_is_number(p) && !(mw_term_number(p) >= 0 && mw_term_number(p) <= 1)) {
        mw_expand_error(ex, call->given[1].span, "'p' of bernoulli is from 0 to 1, not %g",
                        mw_term_number(p));
        return mw_term_none();
    }
    return shaped(ex, call, noise, apply(ex, call->site, MW_OP_LT, noise, p));
}
