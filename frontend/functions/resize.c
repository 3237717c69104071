/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Images in other sizes: enlarged, reduced, and pooled to sizes that are given. Along each spatial
 * dimension by itself, since windows and weights are products over the dimensions.
 *
 * Enlarging by whole numbers without weights is a broadcast. Where sizes do not divide, elements
 * are gathered; weighted sums are products with a matrix of constants, which is computed from
 * positions: it is small beside the convolutions around it, and a product is what devices are
 * fastest at. */
#include "frontend/functions/expansions.h"
#include "frontend/functions/images.h"
#include "frontend/functions/reduction.h"

typedef struct {
    MwValueId x;
    int dims;
    int64_t in[MW_MAX_WINDOW_DIMS], out[MW_MAX_WINDOW_DIMS];
} Resized;

/* Arguments 0 and 1: x, sizes. */
static bool read_resized(MwExpander *ex, const MwCall *call, Resized *r)
{
    if (!mw_call_image(ex, call, &r->x, &r->dims) || !mw_call_each(ex, call, 1, r->dims, 1, r->out))
        return false;
    const MwTensor *x = mw_value_tensor(ex->graph, r->x);
    for (int d = 0; d < r->dims; d++) {
        r->in[d] = x->dim[d + 1];
        if (r->in[d] > INT32_MAX / r->out[d]) { /* positions are products of both, i32 */
            mw_expand_error(ex, call->given[1].span, "%s cannot turn size %lld into %lld",
                            call->callee, (long long)r->in[d], (long long)r->out[d]);
            return false;
        }
    }
    if (mw_type_is_float(x->type))
        return true;
    mw_expand_error(ex, call->given[0].span, "%s needs float numbers, not %s", call->callee,
                    mw_term_describe(ex, call->given[0].term));
    return false;
}

/* ---- Constants from positions ---- */

static MwTerm apply(MwExpander *ex, MwSite site, MwOp op, MwTerm a, MwTerm b)
{
    return mw_apply(ex, site, op, (MwTerm[]){a, b}, mw_op_info(op)->operands);
}

/* Positions along dimension `axis` of a tensor [size0, size1] that has size 1 in the other one. */
static MwTerm positions(MwExpander *ex, MwSite site, MwType type, int axis, int64_t size)
{
    const int64_t dim[] = {axis == 0 ? size : 1, axis == 1 ? size : 1};
    const MwTensor line = mw_tensor(type, 2, dim);
    return mw_term_tensor(mw_emit_iota(ex, site, &line, axis));
}

/* (at * scale + plus) // divisor of whole numbers */
static MwTerm whole(MwExpander *ex, MwSite site, MwTerm at, int64_t scale, int64_t plus,
                    int64_t divisor)
{
    const MwTerm scaled = apply(ex, site, MW_OP_MUL, at, mw_term_int(scale));
    const MwTerm sum = apply(ex, site, MW_OP_ADD, scaled, mw_term_int(plus));
    return apply(ex, site, MW_OP_FLOOR_DIV, sum, mw_term_int(divisor));
}

/* The windows of an adaptive pool: the first element of each, and the first one after it, along
 * dimension 1. Window o is that from floor(o in / out) up to ceil((o + 1) in / out). */
typedef struct {
    MwTerm begin, end;
} Bounds;

static Bounds bounds(MwExpander *ex, MwSite site, int axis, int64_t in, int64_t out)
{
    const MwTerm at = positions(ex, site, MW_I32, axis, out);
    return (Bounds){whole(ex, site, at, in, 0, out), whole(ex, site, at, in, in + out - 1, out)};
}

/* [in, out]: the weights of the two elements nearest to the centre of each of `out` equal parts:
 * 1 less the distance, where that is less than 1. Centres beyond those of the first and the last
 * element are theirs. */
static MwTerm linear_weights(MwExpander *ex, MwSite site, int64_t in, int64_t out)
{
    const MwTerm from = positions(ex, site, MW_F32, 0, in);
    const double ratio = (double)in / (double)out;
    MwTerm centre = positions(ex, site, MW_F32, 1, out);
    centre = apply(ex, site, MW_OP_MUL, centre, mw_term_float(ratio));
    centre = apply(ex, site, MW_OP_ADD, centre, mw_term_float(0.5 * ratio - 0.5));
    centre = apply(ex, site, MW_OP_MAXIMUM, centre, mw_term_float(0));
    centre = apply(ex, site, MW_OP_MINIMUM, centre, mw_term_float((double)(in - 1)));
    MwTerm distance = apply(ex, site, MW_OP_SUB, centre, from);
    distance = apply(ex, site, MW_OP_ABS, distance, mw_term_none());
    return apply(ex, site, MW_OP_MAXIMUM, apply(ex, site, MW_OP_SUB, mw_term_int(1), distance),
                 mw_term_float(0));
}

/* [in, out]: what each element counts in the mean of each window of an adaptive pool. */
static MwTerm mean_weights(MwExpander *ex, MwSite site, int64_t in, int64_t out)
{
    const MwTerm from = positions(ex, site, MW_I32, 0, in);
    const Bounds window = bounds(ex, site, 1, in, out);
    const MwTerm inside = apply(ex, site, MW_OP_AND, apply(ex, site, MW_OP_GE, from, window.begin),
                                apply(ex, site, MW_OP_LT, from, window.end));
    const MwTerm size = apply(ex, site, MW_OP_SUB, window.end, window.begin);
    if (inside.kind == MW_TERM_NONE || size.kind == MW_TERM_NONE)
        return mw_term_none();
    const MwTerm count = mw_term_tensor(mw_emit_cast(ex, site, size.value, MW_F32));
    const MwTerm here = mw_term_tensor(mw_emit_cast(ex, site, inside.value, MW_F32));
    return apply(ex, site, MW_OP_DIV, here, count);
}

/* ---- One dimension ---- */

/* How a spatial dimension d becomes another one; the last node stands at `site`. */
typedef MwValueId ResizeDim(MwExpander *ex, const MwCall *call, MwSite site, const Resized *r,
                            int d);

/* The product of spatial dimension d with weights [in, out]. */
static MwValueId weighted(MwExpander *ex, MwSite site, const Resized *r, int d, MwTerm weights)
{
    if (weights.kind == MW_TERM_NONE)
        return mw_no_value();
    const MwSite inner = mw_site_inner(site);
    const MwTensor *x = mw_value_tensor(ex->graph, r->x);
    MwValueId matrix = weights.value;
    if (x->type != MW_F32)
        matrix = mw_emit_cast(ex, inner, matrix, x->type);
    const int rank = x->rank;
    const char old = (char)('a' + d + 1);
    const char *letters = mw_arena_printf(ex->arena, "%.*s", rank, "abcdefgh");
    return mw_emit_einsum(ex, site,
                          mw_arena_printf(ex->arena, "%s,%cz->%.*sz%s", letters, old, d + 1,
                                          letters, letters + d + 2),
                          r->x, matrix);
}

static MwValueId resize_linear(MwExpander *ex, const MwCall *call, MwSite site, const Resized *r,
                               int d)
{
    (void)call;
    const MwTerm weights = linear_weights(ex, mw_site_inner(site), r->in[d], r->out[d]);
    return weighted(ex, site, r, d, weights);
}

static MwValueId resize_mean(MwExpander *ex, const MwCall *call, MwSite site, const Resized *r,
                             int d)
{
    (void)call;
    return weighted(ex, site, r, d, mean_weights(ex, mw_site_inner(site), r->in[d], r->out[d]));
}

/* Element floor(o in / out): a broadcast or a stride where one size divides the other. */
static MwValueId resize_nearest(MwExpander *ex, const MwCall *call, MwSite site, const Resized *r,
                                int d)
{
    const int64_t in = r->in[d], out = r->out[d];
    const MwSite inner = mw_site_inner(site);
    if (in % out == 0) {
        MwCall strided = *call;
        strided.site = site;
        return mw_emit_part(ex, &strided, r->x, d + 1, 0, in, in / out);
    }
    const MwTensor x = *mw_value_tensor(ex->graph, r->x);
    if (out % in == 0 && x.rank < MW_MAX_RANK) {
        MwTensor apart = x, wide = x, result = x;
        mw_tensor_insert_dim(&apart, d + 2, 1);
        mw_tensor_insert_dim(&wide, d + 2, out / in);
        result.dim[d + 1] = out;
        const MwValueId parts = mw_emit_reshape(ex, inner, r->x, &apart);
        return mw_emit_reshape(ex, site, mw_emit_broadcast(ex, inner, parts, &wide), &result);
    }
    const MwTensor line = mw_tensor(MW_I32, 1, &out);
    const MwTerm at = mw_term_tensor(mw_emit_iota(ex, inner, &line, 0));
    const MwTerm ids = whole(ex, inner, at, in, 0, out);
    return ids.kind == MW_TERM_NONE ? mw_no_value()
                                    : mw_emit_gather(ex, site, r->x, ids.value, d + 1);
}

/* The size of the largest window of an adaptive pool. Where there are more windows than elements,
 * one has two elements, unless each element has as many windows. */
static int64_t largest_window(int64_t in, int64_t out)
{
    int64_t largest = 1;
    if (out > in)
        return out % in ? 2 : 1;
    for (int64_t o = 0; o < out; o++)
        largest = mw_max(largest, ((o + 1) * in + out - 1) / out - o * in / out);
    return largest;
}

/* The maximum of as many elements as the largest window has; smaller windows have their last
 * element several times. */
static MwValueId resize_max(MwExpander *ex, const MwCall *call, MwSite site, const Resized *r,
                            int d)
{
    (void)call;
    const MwSite inner = mw_site_inner(site);
    const Bounds window = bounds(ex, inner, 0, r->in[d], r->out[d]);
    const MwTerm tap = positions(ex, inner, MW_I32, 1, largest_window(r->in[d], r->out[d]));
    const MwTerm last = apply(ex, inner, MW_OP_SUB, window.end, mw_term_int(1));
    const MwTerm ids =
        apply(ex, inner, MW_OP_MINIMUM, apply(ex, inner, MW_OP_ADD, window.begin, tap), last);
    if (ids.kind == MW_TERM_NONE)
        return mw_no_value();
    const MwReduced all = {
        .x = mw_emit_gather(ex, inner, r->x, ids.value, d + 1), .axes = {d + 2}, .axis_count = 1};
    return mw_has_value(all.x) ? mw_reduction_emit(ex, site, MW_OP_REDUCE_MAX, &all) : all.x;
}

/* Every dimension that changes, one after another. */
static MwTerm resize_all(MwExpander *ex, const MwCall *call, Resized *r, ResizeDim *resize)
{
    int last = r->dims - 1;
    while (last >= 0 && r->in[last] == r->out[last])
        last--;
    for (int d = 0; d <= last && mw_has_value(r->x); d++)
        if (r->in[d] != r->out[d])
            r->x = resize(ex, call, d < last ? mw_site_inner(call->site) : call->site, r, d);
    return mw_term_tensor(r->x);
}

/* ---- Functions ---- */

MwTerm mw_function_resize(MwExpander *ex, const MwCall *call)
{
    static const char *const names[] = {"nearest", "bilinear"};
    static ResizeDim *const modes[] = {resize_nearest, resize_linear};
    Resized r;
    const int mode = mw_call_choice(ex, call, 2, names, MW_COUNT(names), 0);
    if (mode < 0 || !read_resized(ex, call, &r))
        return mw_term_none();
    return resize_all(ex, call, &r, modes[mode]);
}

/* The pool whose windows lie side by side and have equal sizes; false if there is none. */
static bool even_windows(const Resized *r, MwImageWindows *w)
{
    *w = (MwImageWindows){.x = r->x, .dims = r->dims};
    for (int d = 0; d < r->dims; d++) {
        if (r->in[d] % r->out[d])
            return false;
        w->size[d] = w->stride[d] = r->in[d] / r->out[d];
        w->dilation[d] = 1;
    }
    return true;
}

MwTerm mw_function_adaptive_avg_pool(MwExpander *ex, const MwCall *call)
{
    Resized r;
    MwImageWindows even;
    if (!read_resized(ex, call, &r))
        return mw_term_none();
    if (even_windows(&r, &even))
        return mw_term_tensor(mw_emit_avg_pool(ex, call->site, &even));
    return resize_all(ex, call, &r, resize_mean);
}

MwTerm mw_function_adaptive_max_pool(MwExpander *ex, const MwCall *call)
{
    Resized r;
    MwImageWindows even;
    if (!read_resized(ex, call, &r))
        return mw_term_none();
    if (even_windows(&r, &even))
        return mw_term_tensor(mw_emit_pool(ex, call->site, MW_OP_MAX_POOL, &even));
    return resize_all(ex, call, &r, resize_max);
}
