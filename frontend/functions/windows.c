/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions, pooling, and the norms that go with them. Images are [batch, spatial.., channels].
 */
#include "frontend/functions/expansions.h"
#include "frontend/functions/images.h"

#include <string.h>

/* ---- Arguments ---- */

bool mw_call_each(MwExpander *ex, const MwCall *call, int k, int dims, int64_t least, int64_t *each)
{
    int64_t *at;
    int count;
    for (int d = 0; d < dims; d++)
        each[d] = least;
    if (!mw_call_has(call, k))
        return true;
    if (!mw_want_ints(ex, call->given[k].term, mw_call_want(ex, call, k), &at, &count))
        return false;
    if (count != 1 && count != dims) {
        mw_expand_error(ex, call->given[k].span,
                        "'%s' of %s is one number or a list of %d, one for each spatial "
                        "dimension, not of %d",
                        call->formals[k].name, call->callee, dims, count);
        return false;
    }
    for (int d = 0; d < dims; d++) {
        each[d] = at[count == 1 ? 0 : d];
        if (each[d] < least || each[d] > INT32_MAX) {
            mw_expand_error(ex, call->given[k].span, "'%s' of %s is from %lld to %d, not %lld",
                            call->formals[k].name, call->callee, (long long)least, INT32_MAX,
                            (long long)each[d]);
            return false;
        }
    }
    return true;
}

bool mw_call_image(MwExpander *ex, const MwCall *call, MwValueId *x, int *dims)
{
    if (!mw_call_tensor(ex, call, 0, x))
        return false;
    *dims = mw_value_tensor(ex->graph, *x)->rank - 2;
    if (*dims >= 1 && *dims <= MW_MAX_WINDOW_DIMS)
        return true;
    mw_expand_error(ex, call->given[0].span,
                    "%s needs [batch, one to %d spatial dimensions, channels], not %s",
                    call->callee, MW_MAX_WINDOW_DIMS, mw_term_describe(ex, call->given[0].term));
    return false;
}

/* Padding that gives as many windows as elements, divided by the stride and rounded up; where it is
 * odd, the larger part comes after. */
static void pad_same(const MwExpander *ex, MwImageWindows *w)
{
    for (int d = 0; d < w->dims; d++) {
        const int64_t in = mw_value_tensor(ex->graph, w->x)->dim[d + 1];
        const int64_t out = (in + w->stride[d] - 1) / w->stride[d];
        const int64_t covered = (out - 1) * w->stride[d] + w->dilation[d] * (w->size[d] - 1) + 1;
        const int64_t padding = mw_max(covered - in, 0);
        w->padding[2 * d] = padding / 2;
        w->padding[2 * d + 1] = padding - padding / 2;
    }
}

static bool holds_lists(MwTerm term)
{
    for (int i = 0; term.kind == MW_TERM_LIST && i < term.list.count; i++)
        if (term.list.at[i].kind == MW_TERM_LIST)
            return true;
    return false;
}

/* Argument k as a list with an element for each dimension: a number, or two, before and after. */
static bool read_pairs(MwExpander *ex, const MwCall *call, int k, MwImageWindows *w)
{
    const MwTerm given = call->given[k].term;
    bool fits = given.list.count == w->dims;
    for (int d = 0; fits && d < w->dims; d++) {
        int64_t *at;
        int count;
        if (!mw_want_ints(ex, given.list.at[d], mw_call_want(ex, call, k), &at, &count))
            return false;
        fits = count == 1 || count == 2;
        for (int side = 0; fits && side < 2; side++)
            w->padding[2 * d + side] = at[side % count];
    }
    if (!fits)
        mw_expand_error(ex, call->given[k].span,
                        "'%s' of %s has for each of %d spatial dimensions a number or a list of "
                        "two, before and after",
                        call->formals[k].name, call->callee, w->dims);
    return fits;
}

/* Argument k: "same", "valid", a number, one for each dimension, or two, before and after, in
 * lists of their own or one after another. */
static bool read_padding(MwExpander *ex, const MwCall *call, int k, MwImageWindows *w)
{
    int64_t *at, each[MW_MAX_WINDOW_DIMS];
    int count;
    const MwTerm given = call->given[k].term;
    if (mw_call_has(call, k) && given.kind == MW_TERM_TEXT) {
        if (strcmp(given.text, "same") == 0)
            return pad_same(ex, w), true;
        if (strcmp(given.text, "valid") == 0)
            return true;
        mw_expand_error(ex, call->given[k].span,
                        "'%s' of %s may be \"same\", \"valid\" or numbers, not \"%s\"",
                        call->formals[k].name, call->callee, given.text);
        return false;
    }
    if (mw_call_has(call, k) && holds_lists(given))
        return read_pairs(ex, call, k, w);
    if (mw_call_has(call, k) && given.kind == MW_TERM_LIST && given.list.count == 2 * w->dims) {
        if (!mw_want_ints(ex, given, mw_call_want(ex, call, k), &at, &count))
            return false;
        memcpy(w->padding, at, sizeof *at * (size_t)count);
        return true;
    }
    if (!mw_call_each(ex, call, k, w->dims, 0, each))
        return false;
    for (int d = 0; d < w->dims; d++)
        w->padding[2 * d] = w->padding[2 * d + 1] = each[d];
    return true;
}

/* ---- Convolutions ---- */

/* Arguments of conv and conv_transpose: x, filter, stride, padding, dilation. */
static bool read_conv(MwExpander *ex, const MwCall *call, MwImageWindows *w, MwValueId *filter)
{
    *w = (MwImageWindows){0};
    if (!mw_call_image(ex, call, &w->x, &w->dims) || !mw_call_tensor(ex, call, 1, filter))
        return false;
    const MwTensor tensor = *mw_value_tensor(ex->graph, *filter);
    if (tensor.rank != w->dims + 2) {
        mw_expand_error(ex, call->given[1].span,
                        "%s needs a filter [sizes.., channels, features] of %d dimensions beside "
                        "%s, not %s",
                        call->callee, w->dims + 2, mw_term_describe(ex, call->given[0].term),
                        mw_term_describe(ex, call->given[1].term));
        return false;
    }
    memcpy(w->size, tensor.dim, sizeof(int64_t) * (size_t)w->dims);
    return mw_call_each(ex, call, 2, w->dims, 1, w->stride) &&
           mw_call_each(ex, call, 4, w->dims, 1, w->dilation);
}

MwTerm mw_function_conv(MwExpander *ex, const MwCall *call)
{
    MwImageWindows w;
    MwValueId filter;
    if (!read_conv(ex, call, &w, &filter) || !read_padding(ex, call, 3, &w))
        return mw_term_none();
    const MwAttr attrs[] = {mw_attr_ints(MW_ATTR_STRIDE, w.stride, w.dims),
                            mw_attr_ints(MW_ATTR_PADDING, w.padding, 2 * w.dims),
                            mw_attr_ints(MW_ATTR_DILATION, w.dilation, w.dims)};
    return mw_call_emit(ex, call, MW_OP_CONV, (MwValueId[]){w.x, filter}, 2, attrs,
                        MW_COUNT(attrs));
}

/* The size that a transposed convolution gives: the least one of which the convolution has as many
 * windows as y has elements, and `extra` more. */
static void size_transposed(MwTensor *x, const MwImageWindows *w, const int64_t *extra)
{
    for (int d = 0; d < w->dims; d++)
        x->dim[d + 1] = (x->dim[d + 1] - 1) * w->stride[d] + w->dilation[d] * (w->size[d] - 1) + 1 -
                        w->padding[2 * d] - w->padding[2 * d + 1] + extra[d];
}

MwTerm mw_function_conv_transpose(MwExpander *ex, const MwCall *call)
{
    MwImageWindows w;
    MwValueId filter;
    int64_t extra[MW_MAX_WINDOW_DIMS], *shape;
    int rank;
    if (!read_conv(ex, call, &w, &filter) || !read_padding(ex, call, 3, &w) ||
        !mw_call_each(ex, call, 5, w.dims, 0, extra))
        return mw_term_none();
    MwTensor x = *mw_value_tensor(ex->graph, w.x);
    const MwTensor *taps = mw_value_tensor(ex->graph, filter);
    const int64_t groups = mw_max(taps->dim[w.dims + 1] / x.dim[w.dims + 1], 1);
    size_transposed(&x, &w, extra);
    x.dim[w.dims + 1] = taps->dim[w.dims] * groups;
    if (!mw_call_has(call, 6))
        rank = x.rank, shape = x.dim;
    else if (!mw_want_ints(ex, call->given[6].term, mw_call_want(ex, call, 6), &shape, &rank))
        return mw_term_none();
    const MwAttr attrs[] = {mw_attr_ints(MW_ATTR_SHAPE, shape, rank),
                            mw_attr_ints(MW_ATTR_STRIDE, w.stride, w.dims),
                            mw_attr_ints(MW_ATTR_PADDING, w.padding, 2 * w.dims),
                            mw_attr_ints(MW_ATTR_DILATION, w.dilation, w.dims)};
    return mw_call_emit(ex, call, MW_OP_CONV_TRANSPOSE, (MwValueId[]){w.x, filter}, 2, attrs,
                        MW_COUNT(attrs));
}

/* ---- Pooling ---- */

/* Arguments of pooling: x, window, stride, padding. Windows lie side by side unless a stride is
 * given. */
static bool read_pool(MwExpander *ex, const MwCall *call, MwImageWindows *w)
{
    *w = (MwImageWindows){.dilation = {1, 1, 1}};
    if (!mw_call_image(ex, call, &w->x, &w->dims) ||
        !mw_call_each(ex, call, 1, w->dims, 1, w->size))
        return false;
    if (!mw_call_has(call, 2))
        memcpy(w->stride, w->size, sizeof w->stride);
    else if (!mw_call_each(ex, call, 2, w->dims, 1, w->stride))
        return false;
    return read_padding(ex, call, 3, w);
}

MwValueId mw_emit_pool(MwExpander *ex, MwSite site, MwOp op, const MwImageWindows *w)
{
    const MwAttr attrs[] = {mw_attr_ints(MW_ATTR_WINDOW, w->size, w->dims),
                            mw_attr_ints(MW_ATTR_STRIDE, w->stride, w->dims),
                            mw_attr_ints(MW_ATTR_PADDING, w->padding, 2 * w->dims)};
    return mw_emit(ex, site, op, &w->x, 1, attrs, MW_COUNT(attrs));
}

MwValueId mw_emit_avg_pool(MwExpander *ex, MwSite site, const MwImageWindows *w)
{
    const MwSite inner = mw_site_inner(site);
    const MwType type = mw_value_tensor(ex->graph, w->x)->type;
    double elements = 1;
    for (int d = 0; d < w->dims; d++)
        elements *= (double)w->size[d];
    const MwValueId sum = mw_emit_pool(ex, inner, MW_OP_SUM_POOL, w);
    return mw_emit_binary(ex, site, MW_OP_MUL, sum,
                          mw_emit_constant(ex, inner, type, 1 / elements));
}

static MwTerm pool(MwExpander *ex, const MwCall *call, MwOp op)
{
    MwImageWindows w;
    if (!read_pool(ex, call, &w))
        return mw_term_none();
    return mw_term_tensor(mw_emit_pool(ex, call->site, op, &w));
}

MwTerm mw_function_max_pool(MwExpander *ex, const MwCall *call)
{
    return pool(ex, call, MW_OP_MAX_POOL);
}

MwTerm mw_function_sum_pool(MwExpander *ex, const MwCall *call)
{
    return pool(ex, call, MW_OP_SUM_POOL);
}

MwTerm mw_function_avg_pool(MwExpander *ex, const MwCall *call)
{
    MwImageWindows w;
    bool counts_padding;
    if (!read_pool(ex, call, &w) || !mw_call_flag(ex, call, 4, true, &counts_padding))
        return mw_term_none();
    if (counts_padding)
        return mw_term_tensor(mw_emit_avg_pool(ex, call->site, &w));
    const MwSite inner = mw_site_inner(call->site);
    MwTensor one = *mw_value_tensor(ex->graph, w.x);
    one.dim[0] = one.dim[one.rank - 1] = 1;
    MwImageWindows ones = w;
    ones.x = mw_emit_broadcast(ex, inner, mw_emit_constant(ex, inner, one.type, 1), &one);
    return mw_term_tensor(mw_emit_binary(ex, call->site, MW_OP_DIV,
                                         mw_emit_pool(ex, inner, MW_OP_SUM_POOL, &w),
                                         mw_emit_pool(ex, inner, MW_OP_SUM_POOL, &ones)));
}
