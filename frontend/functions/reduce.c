/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that reduce, and those that work along one dimension. */
#include "frontend/functions/reduction.h"

#include "frontend/functions/expansions.h"

#include <math.h>

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
            if (chosen[axis]) {
                mw_expand_error(ex, call->given[1].span, "%s has axis %d twice", call->callee,
                                axis);
                return false;
            }
            chosen[axis] = true;
        }
    }
    *count = 0;
    for (int d = 0; d < rank; d++)
        if (chosen[d] || !mw_call_has(call, 1))
            axes[(*count)++] = d;
    return true;
}

static bool read_reduction(MwExpander *ex, const MwCall *call, MwReduced *reduction)
{
    *reduction = (MwReduced){0};
    return mw_call_tensor(ex, call, 0, &reduction->x) &&
           read_axes(ex, call, reduction->x, reduction->axes, &reduction->axis_count) &&
           mw_call_flag(ex, call, 2, false, &reduction->keep);
}

MwValueId mw_reduction_emit(MwExpander *ex, MwSite site, MwOp op, const MwReduced *r)
{
    if (!r->axis_count)
        return r->x;
    MwAttr attrs[] = {mw_attr_ints(MW_ATTR_AXES, r->axes, r->axis_count),
                      mw_attr_int(MW_ATTR_KEEP, r->keep)};
    return mw_emit(ex, site, op, &r->x, 1, attrs, MW_COUNT(attrs));
}

/* Whether argument 0 is a list, and no other is given. The result is then `op` between its
 * elements, numbers or tensors. */
static bool fold_list(MwExpander *ex, const MwCall *call, MwOp op, MwTerm *result)
{
    const MwTerm list = call->given[0].term;
    if (list.kind != MW_TERM_LIST || !list.list.count || mw_call_has(call, 1) ||
        mw_call_has(call, 2))
        return false;
    *result = list.list.at[0];
    for (int i = 1; i < list.list.count; i++) {
        const MwSite site = i + 1 < list.list.count ? mw_site_inner(call->site) : call->site;
        *result = mw_apply(ex, site, op, (MwTerm[]){*result, list.list.at[i]}, 2);
    }
    return true;
}

/* Leads a call that takes the extreme of two values to `name`. */
static void note_extreme_of_two(MwExpander *ex, const MwCall *call, const char *name)
{
    if (mw_term_is_number(call->given[0].term) || call->given[1].term.kind == MW_TERM_TENSOR)
        mw_expand_note(ex, mw_span_none(), "%s(a, b) is that of two values", name);
}

MwTerm mw_function_sum(MwExpander *ex, const MwCall *call)
{
    MwReduced r;
    MwTerm folded;
    if (fold_list(ex, call, MW_OP_ADD, &folded))
        return folded;
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    return mw_term_tensor(mw_reduction_emit(ex, call->site, MW_OP_REDUCE_SUM, &r));
}

MwTerm mw_function_max(MwExpander *ex, const MwCall *call)
{
    MwReduced r;
    MwTerm folded;
    if (fold_list(ex, call, MW_OP_MAXIMUM, &folded))
        return folded;
    note_extreme_of_two(ex, call, "maximum");
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    return mw_term_tensor(mw_reduction_emit(ex, call->site, MW_OP_REDUCE_MAX, &r));
}

/* The elements in opposite order: -x, but -1 - x for integers with a sign, the least of which has
 * no negative, and the greatest - x for others. */
static MwValueId emit_mirrored(MwExpander *ex, MwSite site, MwValueId x)
{
    if (!mw_has_value(x) || !mw_type_is_integer(mw_value_tensor(ex->graph, x)->type))
        return mw_emit_unary(ex, site, MW_OP_NEG, x);
    const MwType type = mw_value_tensor(ex->graph, x)->type;
    const double ends = mw_type_kind(type) == MW_TYPE_UNSIGNED ? mw_type_clamp(type, INFINITY) : -1;
    const MwValueId sum = mw_emit_constant(ex, mw_site_inner(site), type, ends);
    return mw_emit_binary(ex, site, MW_OP_SUB, sum, x);
}

/* The least element is the greatest of the mirrored ones. */
MwTerm mw_function_min(MwExpander *ex, const MwCall *call)
{
    MwReduced r;
    MwTerm folded;
    if (fold_list(ex, call, MW_OP_MINIMUM, &folded))
        return folded;
    note_extreme_of_two(ex, call, "minimum");
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    MwSite inner = mw_site_inner(call->site);
    r.x = emit_mirrored(ex, inner, r.x);
    MwValueId most = mw_has_value(r.x) ? mw_reduction_emit(ex, inner, MW_OP_REDUCE_MAX, &r) : r.x;
    return mw_term_tensor(emit_mirrored(ex, call->site, most));
}

static bool read_float_reduction(MwExpander *ex, const MwCall *call, MwReduced *r)
{
    if (!read_reduction(ex, call, r))
        return false;
    if (mw_type_is_float(mw_value_tensor(ex->graph, r->x)->type))
        return true;
    mw_expand_error(ex, call->given[0].span, "%s needs a floating-point type, not %s", call->callee,
                    mw_term_describe(ex, call->given[0].term));
    return false;
}

double mw_reduction_count(MwExpander *ex, const MwReduced *r)
{
    const MwTensor *x = mw_value_tensor(ex->graph, r->x);
    double count = 1;
    for (int i = 0; i < r->axis_count; i++)
        count *= (double)x->dim[r->axes[i]];
    return count;
}

MwValueId mw_reduction_mean(MwExpander *ex, MwSite site, const MwReduced *r, double divisor)
{
    const MwType type = mw_value_tensor(ex->graph, r->x)->type;
    MwSite inner = mw_site_inner(site);
    MwValueId sum = mw_reduction_emit(ex, inner, MW_OP_REDUCE_SUM, r);
    MwValueId scale = mw_emit_constant(ex, inner, type, 1 / divisor);
    return mw_emit_binary(ex, site, MW_OP_MUL, sum, scale);
}

MwTerm mw_function_mean(MwExpander *ex, const MwCall *call)
{
    MwReduced r;
    if (!read_float_reduction(ex, call, &r))
        return mw_term_none();
    return mw_term_tensor(mw_reduction_mean(ex, call->site, &r, mw_reduction_count(ex, &r)));
}

/* The mean square of x - mean(x): the mean first, so that nothing cancels. `unbiased` divides by
 * one less than the count. */
static MwValueId emit_variance(MwExpander *ex, const MwCall *call, MwSite site)
{
    MwReduced r;
    bool unbiased;
    if (!read_float_reduction(ex, call, &r) || !mw_call_flag(ex, call, 3, false, &unbiased))
        return mw_no_value();
    const double count = mw_reduction_count(ex, &r);
    MwSite inner = mw_site_inner(site);
    MwReduced kept = r;
    kept.keep = true;
    MwValueId centered =
        mw_emit_binary(ex, inner, MW_OP_SUB, r.x, mw_reduction_mean(ex, inner, &kept, count));
    r.x = mw_emit_binary(ex, inner, MW_OP_MUL, centered, centered);
    return mw_has_value(r.x) ? mw_reduction_mean(ex, site, &r, count - unbiased) : r.x;
}

MwTerm mw_function_var(MwExpander *ex, const MwCall *call)
{
    return mw_term_tensor(emit_variance(ex, call, call->site));
}

/* The root of the variance. Where that is 0, the gradient is 0 too, as in PyTorch, and not 0/0. */
MwTerm mw_function_std(MwExpander *ex, const MwCall *call)
{
    const MwSite inner = mw_site_inner(call->site);
    const MwValueId variance = emit_variance(ex, call, inner);
    if (!mw_has_value(variance))
        return mw_term_none();
    const MwType type = mw_value_tensor(ex->graph, variance)->type;
    const MwValueId zero = mw_emit_constant(ex, inner, type, 0);
    const MwValueId is_zero = mw_emit_binary(ex, inner, MW_OP_EQ, variance, zero);
    MwValueId operands[] = {is_zero, mw_emit_constant(ex, inner, type, 1), variance};
    operands[2] = mw_emit(ex, inner, MW_OP_SELECT, operands, MW_COUNT(operands), NULL, 0);
    operands[2] = mw_emit_unary(ex, inner, MW_OP_SQRT, operands[2]);
    operands[1] = zero;
    return mw_term_tensor(
        mw_emit(ex, call->site, MW_OP_SELECT, operands, MW_COUNT(operands), NULL, 0));
}

/* The first place along `axis` of an element that is the greatest, or NaN: of all such places, the
 * one that is farthest from the end. */
static MwValueId emit_argmax(MwExpander *ex, MwSite site, MwValueId x, int axis, bool keep)
{
    if (!mw_has_value(x))
        return x;
    MwSite inner = mw_site_inner(site);
    const MwTensor shape = *mw_value_tensor(ex->graph, x);
    MwReduced r = {.x = x, .axes = {axis}, .axis_count = 1, .keep = true};
    MwValueId most = mw_reduction_emit(ex, inner, MW_OP_REDUCE_MAX, &r);
    MwValueId here = mw_emit_binary(ex, inner, MW_OP_EQ, x, most);
    if (mw_type_is_float(shape.type))
        here = mw_emit_binary(ex, inner, MW_OP_OR, here, mw_emit_unary(ex, inner, MW_OP_ISNAN, x));
    MwTensor line = shape;
    line.type = MW_I32;
    for (int d = 0; d < line.rank; d++)
        line.dim[d] = d == axis ? shape.dim[axis] : 1;
    MwValueId place = mw_emit_iota(ex, inner, &line, axis);
    MwValueId last = mw_emit_constant(ex, inner, MW_I32, (double)(shape.dim[axis] - 1));
    MwValueId to_end = mw_emit_binary(ex, inner, MW_OP_SUB, last, place);
    MwValueId none = mw_emit_constant(ex, inner, MW_I32, 0);
    r.x = mw_emit(ex, inner, MW_OP_SELECT, (MwValueId[]){here, to_end, none}, 3, NULL, 0);
    r.keep = keep;
    MwValueId farthest =
        mw_has_value(r.x) ? mw_reduction_emit(ex, inner, MW_OP_REDUCE_MAX, &r) : r.x;
    return mw_emit_binary(ex, site, MW_OP_SUB, last, farthest);
}

static MwTerm place_of(MwExpander *ex, const MwCall *call, bool of_least)
{
    MwValueId x;
    int axis;
    bool keep;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 1, x, -1, &axis) ||
        !mw_call_flag(ex, call, 2, false, &keep))
        return mw_term_none();
    if (of_least)
        x = emit_mirrored(ex, mw_site_inner(call->site), x);
    return mw_term_tensor(emit_argmax(ex, call->site, x, axis, keep));
}

MwTerm mw_function_argmax(MwExpander *ex, const MwCall *call)
{
    return place_of(ex, call, false);
}

MwTerm mw_function_argmin(MwExpander *ex, const MwCall *call)
{
    return place_of(ex, call, true);
}

/* Whether `wanted` holds anywhere, as the greatest of truth values; `site` has the last node. */
static MwTerm anywhere(MwExpander *ex, const MwCall *call, MwSite site, bool wanted)
{
    MwReduced r;
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    if (mw_value_tensor(ex->graph, r.x)->type != MW_BOOL) {
        mw_expand_error(ex, call->given[0].span, "%s needs bool, not %s", call->callee,
                        mw_term_describe(ex, call->given[0].term));
        return mw_term_none();
    }
    MwSite inner = mw_site_inner(call->site);
    if (!wanted)
        r.x = mw_emit_unary(ex, inner, MW_OP_NOT, r.x);
    r.x = mw_emit_cast(ex, inner, r.x, MW_I32);
    return mw_term_tensor(
        mw_emit_cast(ex, site, mw_reduction_emit(ex, inner, MW_OP_REDUCE_MAX, &r), MW_BOOL));
}

MwTerm mw_function_any(MwExpander *ex, const MwCall *call)
{
    return anywhere(ex, call, call->site, true);
}

/* Nowhere not. */
MwTerm mw_function_all(MwExpander *ex, const MwCall *call)
{
    MwTerm some = anywhere(ex, call, mw_site_inner(call->site), false);
    return some.kind == MW_TERM_NONE
               ? some
               : mw_term_tensor(mw_emit_unary(ex, call->site, MW_OP_NOT, some.value));
}

/* Multiplies the halves of dimension `axis`, and theirs, until it has size 1; of an odd size one
 * element waits until the end. So there are no more than 4 nodes for each halving, and the gradient
 * of an element is the product of the others, zeros among them or not. */
static MwValueId emit_product(MwExpander *ex, MwSite site, MwValueId x, int axis)
{
    MwValueId rest = mw_no_value();
    while (mw_has_value(x) && mw_value_tensor(ex->graph, x)->dim[axis] > 1) {
        const int64_t size = mw_value_tensor(ex->graph, x)->dim[axis], half = size / 2;
        MwValueId first = mw_emit_range(ex, site, MW_OP_SLICE, x, axis, 0, half);
        MwValueId second = mw_emit_range(ex, site, MW_OP_SLICE, x, axis, half, 2 * half);
        if (size % 2) {
            MwValueId last = mw_emit_range(ex, site, MW_OP_SLICE, x, axis, size - 1, size);
            rest = mw_has_value(rest) ? mw_emit_binary(ex, site, MW_OP_MUL, rest, last) : last;
        }
        x = mw_emit_binary(ex, site, MW_OP_MUL, first, second);
    }
    return mw_has_value(rest) ? mw_emit_binary(ex, site, MW_OP_MUL, x, rest) : x;
}

MwTerm mw_function_prod(MwExpander *ex, const MwCall *call)
{
    MwReduced r;
    MwTerm folded;
    if (fold_list(ex, call, MW_OP_MUL, &folded))
        return folded;
    if (!read_reduction(ex, call, &r))
        return mw_term_none();
    MwTensor shape = *mw_value_tensor(ex->graph, r.x);
    for (int i = 0; i < r.axis_count && mw_has_value(r.x); i++)
        r.x = emit_product(ex, mw_site_inner(call->site), r.x, (int)r.axes[i]);
    if (!mw_has_value(r.x))
        return mw_term_none();
    int rank = 0;
    for (int d = 0, i = 0; d < shape.rank; d++) {
        const bool is_reduced = i < r.axis_count && r.axes[i] == d;
        i += is_reduced;
        if (!is_reduced || r.keep)
            shape.dim[rank++] = is_reduced ? 1 : shape.dim[d];
    }
    for (int d = rank; d < shape.rank; d++)
        shape.dim[d] = 0;
    shape.rank = rank;
    return mw_term_tensor(mw_emit_reshape(ex, call->site, r.x, &shape));
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
static MwTerm along_axis(MwExpander *ex, const MwCall *call, MwOp op, bool keeps_axis,
                         const MwAttr *attrs, int attr_count)
{
    MwValueId x;
    int axis;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 1, x, -1, &axis))
        return mw_term_none();
    int rank = mw_value_tensor(ex->graph, x)->rank;
    MwSite inner = mw_site_inner(call->site);
    if (axis == rank - 1)
        return mw_term_tensor(mw_emit(ex, call->site, op, &x, 1, attrs, attr_count));
    MwValueId moved = move_axis(ex, inner, x, rank, axis, false);
    if (!keeps_axis)
        return mw_term_tensor(mw_emit(ex, call->site, op, &moved, 1, attrs, attr_count));
    MwValueId done = mw_emit(ex, inner, op, &moved, 1, attrs, attr_count);
    return mw_term_tensor(move_axis(ex, call->site, done, rank, axis, true));
}

MwTerm mw_function_softmax(MwExpander *ex, const MwCall *call)
{
    return along_axis(ex, call, MW_OP_SOFTMAX, true, NULL, 0);
}

MwTerm mw_function_log_softmax(MwExpander *ex, const MwCall *call)
{
    return along_axis(ex, call, MW_OP_LOG_SOFTMAX, true, NULL, 0);
}

MwTerm mw_function_cumsum(MwExpander *ex, const MwCall *call)
{
    bool inverse;
    if (!mw_call_flag(ex, call, 2, false, &inverse))
        return mw_term_none();
    const MwAttr attr = mw_attr_int(MW_ATTR_INVERSE, inverse);
    return along_axis(ex, call, MW_OP_CUMSUM, true, &attr, 1);
}

enum { LINEAR_SCAN_DECAY = 1, LINEAR_SCAN_AXIS, LINEAR_SCAN_INITIAL, LINEAR_SCAN_REVERSE };

/* x, to whose first step is added what the step takes over of `initial`, whose shape is that of a
 * step. */
static MwValueId with_initial(MwExpander *ex, const MwCall *call, MwValueId x, MwValueId decay,
                              int axis, bool reverse)
{
    const MwSite inner = mw_site_inner(call->site);
    MwTensor step = *mw_value_tensor(ex->graph, x);
    const int64_t steps = step.dim[axis], first = reverse ? steps - 1 : 0;
    MwValueId initial;
    if (!mw_call_tensor(ex, call, LINEAR_SCAN_INITIAL, &initial))
        return mw_no_value();
    const MwTensor given = *mw_value_tensor(ex->graph, initial);
    step.dim[axis] = 1;
    MwTensor wanted = step;
    mw_tensor_remove_dim(&wanted, axis);
    if (!mw_tensor_equal(&given, &wanted)) {
        char text[MW_TENSOR_TEXT_BYTES];
        mw_expand_error(ex, call->given[LINEAR_SCAN_INITIAL].span,
                        "'initial' of linear_scan is a step of x, %s, not %s",
                        mw_tensor_text(&wanted, text),
                        mw_term_describe(ex, call->given[LINEAR_SCAN_INITIAL].term));
        return mw_no_value();
    }
    MwValueId taken = mw_emit_range(ex, inner, MW_OP_SLICE, decay, axis, first, first + 1);
    taken = mw_emit_binary(ex, inner, MW_OP_MUL, taken, mw_emit_reshape(ex, inner, initial, &step));
    taken = mw_emit_range(ex, inner, MW_OP_PAD, taken, axis, first, steps - 1 - first);
    return mw_emit_binary(ex, inner, MW_OP_ADD, x, taken);
}

/* The decay may be a number, or stretch to the shape of x. */
MwTerm mw_function_linear_scan(MwExpander *ex, const MwCall *call)
{
    const MwSite inner = mw_site_inner(call->site);
    const MwTerm terms[] = {call->given[0].term, call->given[LINEAR_SCAN_DECAY].term};
    MwValueId both[2];
    int axis;
    bool reverse;
    if (!mw_call_tensor(ex, call, 0, &both[0]) ||
        !mw_promote(ex, call->site.span, terms, 2, both) ||
        !mw_call_axis(ex, call, LINEAR_SCAN_AXIS, both[0], 1, &axis) ||
        !mw_call_flag(ex, call, LINEAR_SCAN_REVERSE, false, &reverse))
        return mw_term_none();
    const MwTensor *x = mw_value_tensor(ex->graph, both[0]);
    if (!mw_tensor_same_shape(x, mw_value_tensor(ex->graph, both[1])))
        both[1] = mw_emit_broadcast(ex, inner, both[1], x);
    if (mw_has_value(both[1]) && mw_call_has(call, LINEAR_SCAN_INITIAL))
        both[0] = with_initial(ex, call, both[0], both[1], axis, reverse);
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_REVERSE, reverse)};
    return mw_term_tensor(mw_emit(ex, call->site, MW_OP_LINEAR_SCAN, both, 2, attrs, 2));
}

MwTerm mw_function_logsumexp(MwExpander *ex, const MwCall *call)
{
    return along_axis(ex, call, MW_OP_LOGSUMEXP, false, NULL, 0);
}

enum { DIGIT_BITS = 16 }; /* f32 has all integers of so many */

/* Digit `d` of integers, of `count`, as f32; the highest one has the sign. */
static MwValueId emit_digit(MwExpander *ex, MwSite site, MwValueId x, int d, int count)
{
    const MwType type = mw_value_tensor(ex->graph, x)->type;
    const double base = 1 << DIGIT_BITS;
    if (d > 0)
        x = mw_emit_binary(ex, site, MW_OP_FLOOR_DIV, x,
                           mw_emit_constant(ex, site, type, pow(base, d)));
    if (d + 1 < count)
        x = mw_emit_binary(ex, site, MW_OP_MOD, x, mw_emit_constant(ex, site, type, base));
    return mw_emit_cast(ex, site, x, MW_F32);
}

/* top_k of integers, along the last dimension: they are sorted by one digit after another, the
 * lowest first, and equal digits keep their order (Knuth, The Art of Computer Programming 3,
 * section 5.2.5). */
static MwTerm top_integers(MwExpander *ex, MwSite site, MwValueId x, int64_t k, bool ascending)
{
    const MwTensor tensor = *mw_value_tensor(ex->graph, x);
    const int digits = mw_max(8 * (int)mw_type_bytes(tensor.type) / DIGIT_BITS, 1);
    const MwSite inner = mw_site_inner(site), both = {site.span, {NULL, 2}, site.callee};
    MwTerm *results = MW_NEW(ex->arena, MwTerm, 2);
    MwTerm found = mw_term_none();
    MwValueId ids = mw_no_value();
    for (int d = 0; d < digits; d++) {
        const bool is_last = d + 1 == digits;
        const MwAttr attrs[] = {mw_attr_int(MW_ATTR_K, is_last ? k : tensor.dim[tensor.rank - 1]),
                                mw_attr_int(MW_ATTR_ASCENDING, ascending)};
        MwValueId digit = emit_digit(ex, inner, x, d, digits);
        if (d > 0)
            digit = mw_emit_binary(ex, inner, MW_OP_TAKE_ALONG, digit, ids);
        found = mw_emit_all(ex, both, MW_OP_TOP_K, &digit, 1, attrs, MW_COUNT(attrs));
        if (found.kind != MW_TERM_LIST)
            return mw_term_none();
        ids = d == 0 ? found.list.at[1].value
                     : mw_emit_binary(ex, is_last ? mw_site_part(site, 1, 2) : inner,
                                      MW_OP_TAKE_ALONG, ids, found.list.at[1].value);
    }
    const MwSite first = mw_site_part(site, 0, 2);
    results[0] =
        mw_term_tensor(digits == 1 ? mw_emit_cast(ex, first, found.list.at[0].value, tensor.type)
                                   : mw_emit_binary(ex, first, MW_OP_TAKE_ALONG, x, ids));
    results[1] = mw_term_tensor(ids);
    return mw_term_list(results, 2);
}

/* Adds the k greatest elements along `axis`, or the least, and their ids; gives a list of both. */
static MwTerm emit_top_k(MwExpander *ex, MwSite site, MwValueId x, int axis, int64_t k,
                         bool ascending)
{
    const int rank = mw_value_tensor(ex->graph, x)->rank;
    const bool is_last = axis == rank - 1;
    const MwAttr attrs[] = {mw_attr_int(MW_ATTR_K, k), mw_attr_int(MW_ATTR_ASCENDING, ascending)};
    const MwSite inner = mw_site_inner(site);
    if (!is_last)
        x = move_axis(ex, inner, x, rank, axis, false);
    if (!mw_has_value(x))
        return mw_term_none();
    const MwSite at = is_last ? site : inner;
    const MwTerm both = mw_type_is_integer(mw_value_tensor(ex->graph, x)->type)
                            ? top_integers(ex, at, x, k, ascending)
                            : mw_emit_all(ex, at, MW_OP_TOP_K, &x, 1, attrs, MW_COUNT(attrs));
    for (int i = 0; both.kind == MW_TERM_LIST && !is_last && i < both.list.count; i++)
        both.list.at[i] = mw_term_tensor(move_axis(ex, mw_site_part(site, i, both.list.count),
                                                   both.list.at[i].value, rank, axis, true));
    return both;
}

MwTerm mw_function_top_k(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t k;
    int axis;
    bool ascending;
    if (!mw_call_tensor(ex, call, 0, &x) ||
        !mw_want_int(ex, call->given[1].term, mw_call_want(ex, call, 1), &k) ||
        !mw_call_axis(ex, call, 2, x, -1, &axis) || !mw_call_flag(ex, call, 3, false, &ascending))
        return mw_term_none();
    return emit_top_k(ex, call->site, x, axis, k, ascending);
}

/* The values of a whole dimension in order, or their ids. The other result is called after it. */
static MwTerm sorted(MwExpander *ex, const MwCall *call, bool ids)
{
    MwValueId x;
    int axis;
    bool descending;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 1, x, -1, &axis) ||
        !mw_call_flag(ex, call, 2, false, &descending))
        return mw_term_none();
    MwSite site = call->site;
    const char *names[2];
    if (site.targets.names && site.targets.count == 1) {
        names[ids] = site.targets.names[0];
        names[!ids] =
            mw_intern_printf(ex->interner, ids ? "%s.values" : "%s.ids", site.targets.names[0]);
        site.targets = (MwTargets){names, 2};
    }
    const int64_t size = mw_value_tensor(ex->graph, x)->dim[axis];
    const MwTerm both = emit_top_k(ex, site, x, axis, size, !descending);
    return both.kind == MW_TERM_LIST ? both.list.at[ids] : both;
}

MwTerm mw_function_sort(MwExpander *ex, const MwCall *call)
{
    return sorted(ex, call, false);
}

MwTerm mw_function_argsort(MwExpander *ex, const MwCall *call)
{
    return sorted(ex, call, true);
}
