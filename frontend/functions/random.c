/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers and dropout, new ones in each step. Every call has random streams of its own,
 * named by their keys. No gradient passes to the numbers, but one does to what scales and moves
 * them.
 *
 * In the body of a scan the numbers of all its steps are drawn at once, before it, as the elements
 * of a tensor that it goes through too. So they are others at each step, and still depend on their
 * global position alone. */
#include "frontend/functions/expansions.h"
#include "frontend/functions/functions.h"

#include <math.h>
#include <string.h>

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

/* The axis of the steps in what is drawn for a scan: behind the batch. `rank` is that of a step. */
static int axis_of_steps(int rank)
{
    return rank ? 1 : 0;
}

/* Adds numbers in [0, 1), of the given shape, and in a scan as many for each step. */
static MwTerm emit_uniform(MwExpander *ex, const MwCall *call, MwSite site, const int64_t *shape,
                           int rank, int64_t key)
{
    int64_t *all = MW_NEW(ex->arena, int64_t, rank + 1);
    int count = 0;
    for (int d = 0; d <= rank; d++) {
        if (ex->in_scan && d == axis_of_steps(rank))
            all[count++] = ex->in_scan->steps;
        if (d < rank)
            all[count++] = shape[d];
    }
    MwCall at = *call;
    at.site = site;
    const MwAttr attrs[] = {mw_attr_ints(MW_ATTR_SHAPE, all, count), mw_attr_int(MW_ATTR_KEY, key)};
    return mw_call_emit(ex, &at, MW_OP_UNIFORM, NULL, 0, attrs, MW_COUNT(attrs));
}

/* What emit_uniform gives, or what is computed from it element by element: in a scan, that of this
 * step. */
static MwTerm take_step(MwExpander *ex, MwSite site, MwTerm drawn)
{
    if (!ex->in_scan || drawn.kind == MW_TERM_NONE)
        return drawn;
    const int rank = mw_value_tensor(ex->graph, drawn.value)->rank - 1;
    return mw_term_tensor(mw_emit_scan_in(ex, site, ex->in_scan, drawn.value, axis_of_steps(rank)));
}

/* The site of what take_step takes, where the values of a step are wanted at `site`. */
static MwSite site_before(const MwExpander *ex, MwSite site)
{
    return ex->in_scan ? mw_site_inner(site) : site;
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
    int64_t key, *shape;
    int rank;
    if (!mw_call_int(ex, call, 3, ex->next_key, &key) || !read_shape(ex, call, &shape, &rank))
        return mw_term_none();
    ex->next_key += !mw_call_has(call, 3);
    const bool is_plain = !mw_call_has(call, 1) && !mw_call_has(call, 2);
    const MwSite inner = mw_site_inner(call->site), site = is_plain ? call->site : inner;
    const MwTerm noise =
        take_step(ex, site, emit_uniform(ex, call, site_before(ex, site), shape, rank, key));
    if (is_plain)
        return noise;
    const MwTerm low = argument(call, 1, mw_term_int(0)), high = argument(call, 2, mw_term_int(1));
    return moved(ex, call, noise, apply(ex, inner, MW_OP_SUB, high, low), low);
}

/* sqrt(-2 log(1 - u)) cos(2 pi v) of two numbers in [0, 1) (Box and Muller, "A note on the
 * generation of random normal deviates", 1958). The greatest is 5.8. */
static MwTerm emit_normal(MwExpander *ex, const MwCall *call, MwSite site, const int64_t *shape,
                          int rank)
{
    const MwSite inner = mw_site_inner(call->site);
    const MwTerm none = mw_term_none();
    MwTerm u = emit_uniform(ex, call, inner, shape, rank, ex->next_key++);
    MwTerm v = emit_uniform(ex, call, inner, shape, rank, ex->next_key++);
    u = apply(ex, inner, MW_OP_SUB, mw_term_int(1), u);
    u = apply(ex, inner, MW_OP_MUL, apply(ex, inner, MW_OP_LOG, u, none), mw_term_int(-2));
    v = apply(ex, inner, MW_OP_MUL, v, mw_term_float(2 * M_PI));
    const MwTerm radius = apply(ex, inner, MW_OP_SQRT, u, none);
    return apply(ex, site, MW_OP_MUL, radius, apply(ex, inner, MW_OP_COS, v, none));
}

MwTerm mw_function_normal(MwExpander *ex, const MwCall *call)
{
    const bool is_plain = !mw_call_has(call, 1) && !mw_call_has(call, 2);
    const MwSite site = is_plain ? call->site : mw_site_inner(call->site);
    int64_t *shape;
    int rank;
    if (!read_shape(ex, call, &shape, &rank))
        return mw_term_none();
    const MwTerm noise =
        take_step(ex, site, emit_normal(ex, call, site_before(ex, site), shape, rank));
    if (is_plain)
        return noise;
    return moved(ex, call, noise, argument(call, 2, mw_term_int(1)),
                 argument(call, 1, mw_term_int(0)));
}

MwTerm mw_function_bernoulli(MwExpander *ex, const MwCall *call)
{
    const MwTerm p = argument(call, 1, mw_term_float(0.5));
    int64_t *shape;
    int rank;
    if (!read_shape(ex, call, &shape, &rank))
        return mw_term_none();
    if (mw_term_is_number(p) && !(mw_term_number(p) >= 0 && mw_term_number(p) <= 1)) {
        mw_expand_error(ex, call->given[1].span, "'p' of bernoulli is from 0 to 1, not %g",
                        mw_term_number(p));
        return mw_term_none();
    }
    const MwSite inner = mw_site_inner(call->site);
    MwTerm noise = emit_uniform(ex, call, inner, shape, rank, ex->next_key++);
    noise = take_step(ex, inner, noise);
    return shaped(ex, call, noise, apply(ex, call->site, MW_OP_LT, noise, p));
}

/* Dropout in a scan: x / (1 - rate) where the bools that are drawn for all steps say so, else 0. */
static MwTerm drop_by_step(MwExpander *ex, const MwCall *call, MwValueId x, double rate)
{
    const MwSite inner = mw_site_inner(call->site);
    const MwTensor shape = *mw_value_tensor(ex->graph, x);
    MwTerm kept = emit_uniform(ex, call, inner, shape.dim, shape.rank, ex->next_key++);
    kept = take_step(ex, inner, apply(ex, inner, MW_OP_GE, kept, mw_term_float(rate)));
    const MwTerm scale = mw_term_float(1 / (1 - rate));
    const MwTerm scaled = apply(ex, inner, MW_OP_MUL, mw_term_tensor(x), scale);
    return mw_apply(ex, call->site, MW_OP_SELECT, (MwTerm[]){kept, scaled, mw_term_float(0)}, 3);
}

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
    if (ex->in_scan && !mw_call_has(call, 2) && rate > 0 && rate < 1 &&
        mw_type_is_float(mw_value_tensor(ex->graph, x)->type))
        return drop_by_step(ex, call, x, rate);
    ex->next_key += !mw_call_has(call, 2);
    MwAttr attrs[] = {mw_attr_float(MW_ATTR_RATE, rate), mw_attr_int(MW_ATTR_KEY, key)};
    return mw_call_emit(ex, call, MW_OP_DROPOUT, &x, 1, attrs, MW_COUNT(attrs));
}

bool mw_function_draws(const char *name)
{
    static const char *const drawing[] = {"uniform", "normal", "bernoulli", "dropout"};
    for (int i = 0; i < MW_COUNT(drawing); i++)
        if (strcmp(name, drawing[i]) == 0)
            return true;
    return false;
}
