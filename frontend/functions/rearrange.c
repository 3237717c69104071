/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that change shapes by several operators, and sums along an axis. */
#include "frontend/functions/expansions.h"

/* Inserts a dimension of `size` before dimension `axis`. */
static bool insert_dim(MwExpander *ex, const MwCall *call, MwTensor *shape, int axis, int64_t size)
{
    if (mw_tensor_insert_dim(shape, axis, size))
        return true;
    mw_expand_error(ex, call->site.span, "%s would need a tensor of more than %d dimensions",
                    call->callee, MW_MAX_RANK);
    return false;
}

/* Marks the dimensions of size 1 that argument 1 lists, or all of them. */
static bool read_squeezed(MwExpander *ex, const MwCall *call, MwValueId x, bool *gone)
{
    MwTensor shape = *mw_value_tensor(ex->graph, x);
    char text[MW_TENSOR_TEXT_BYTES];
    int64_t *axes;
    int count, axis;
    for (int d = 0; d < shape.rank && !mw_call_has(call, 1); d++)
        gone[d] = shape.dim[d] == 1;
    if (!mw_call_has(call, 1))
        return true;
    if (!mw_want_ints(ex, call->given[1].term, mw_call_want(ex, call, 1), &axes, &count))
        return false;
    for (int i = 0; i < count; i++) {
        if (!mw_axis_normalize(ex, call->given[1].span, call->callee, x, axes[i], &axis))
            return false;
        if (shape.dim[axis] != 1) {
            mw_expand_error(ex, call->given[1].span,
                            "squeeze removes dimensions of size 1, which dimension %d of %s is not",
                            axis, mw_tensor_text(&shape, text));
            return false;
        }
        gone[axis] = true;
    }
    return true;
}

MwTerm mw_function_squeeze(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    bool gone[MW_MAX_RANK] = {0};
    if (!mw_call_tensor(ex, call, 0, &x) || !read_squeezed(ex, call, x, gone))
        return mw_term_none();
    MwTensor shape = *mw_value_tensor(ex->graph, x);
    for (int d = shape.rank - 1; d >= 0; d--)
        if (gone[d])
            mw_tensor_remove_dim(&shape, d);
    return mw_term_tensor(mw_emit_reshape(ex, call->site, x, &shape));
}

/* Argument k as the place of a new dimension among those of `x`; the first if it is not given. */
static bool read_place(MwExpander *ex, const MwCall *call, int k, MwValueId x, int *axis)
{
    int64_t given;
    int places = mw_value_tensor(ex->graph, x)->rank + 1;
    if (!mw_call_int(ex, call, k, 0, &given))
        return false;
    *axis = (int)(given < 0 ? given + places : given);
    if (given >= -places && given < places)
        return true;
    mw_expand_error(ex, call->given[k].span, "%s makes %d dimensions, among which is no axis %lld",
                    call->callee, places, (long long)given);
    return false;
}

/* `x` with a dimension of size 1 at `axis`. */
static MwValueId expand_at(MwExpander *ex, const MwCall *call, MwSite site, MwValueId x, int axis)
{
    MwTensor shape = *mw_value_tensor(ex->graph, x);
    if (!insert_dim(ex, call, &shape, axis, 1))
        return mw_no_value();
    return mw_emit_reshape(ex, site, x, &shape);
}

MwTerm mw_function_expand_dims(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int axis;
    if (!mw_call_tensor(ex, call, 0, &x) || !read_place(ex, call, 1, x, &axis))
        return mw_term_none();
    return mw_term_tensor(expand_at(ex, call, call->site, x, axis));
}

MwTerm mw_function_stack(MwExpander *ex, const MwCall *call)
{
    MwValueId *values;
    int count, axis;
    if (!mw_call_tensors(ex, call, &values, &count) || !read_place(ex, call, 1, values[0], &axis))
        return mw_term_none();
    for (int i = 0; i < count; i++) {
        if (mw_value_tensor(ex->graph, values[i])->rank < axis) {
            mw_expand_error(ex, call->site.span, "stack needs tensors of one shape");
            return mw_term_none();
        }
        values[i] = expand_at(ex, call, mw_site_inner(call->site), values[i], axis);
        if (!mw_has_value(values[i]))
            return mw_term_none();
    }
    return mw_term_tensor(mw_emit_concat(ex, call->site, values, count, axis));
}

/* Each dimension that repeats gets one of its count before it, which x is stretched to. */
MwTerm mw_function_tile(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t *counts;
    int count;
    if (!mw_call_tensor(ex, call, 0, &x) ||
        !mw_want_ints(ex, call->given[1].term, mw_call_want(ex, call, 1), &counts, &count))
        return mw_term_none();
    MwTensor apart = *mw_value_tensor(ex->graph, x), result = apart;
    if (count != apart.rank) {
        mw_expand_error(ex, call->given[1].span, "tile needs a count for each of %d dimensions",
                        apart.rank);
        return mw_term_none();
    }
    MwTensor wide = apart;
    for (int d = count - 1; d >= 0; d--) {
        if (counts[d] < 1 || __builtin_mul_overflow(result.dim[d], counts[d], &result.dim[d])) {
            mw_expand_error(ex, call->given[1].span, "a dimension cannot be repeated %lld times",
                            (long long)counts[d]);
            return mw_term_none();
        }
        if (counts[d] > 1 &&
            (!insert_dim(ex, call, &apart, d, 1) || !insert_dim(ex, call, &wide, d, counts[d])))
            return mw_term_none();
    }
    MwSite inner = mw_site_inner(call->site);
    MwValueId parts = mw_emit_reshape(ex, inner, x, &apart);
    MwValueId all = mw_emit_broadcast(ex, inner, parts, &wide);
    return mw_term_tensor(mw_emit_reshape(ex, call->site, all, &result));
}

/* The last `shift` elements come first. */
MwTerm mw_function_roll(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t shift;
    int axis;
    if (!mw_call_tensor(ex, call, 0, &x) ||
        !mw_want_int(ex, call->given[1].term, mw_call_want(ex, call, 1), &shift) ||
        !mw_call_axis(ex, call, 2, x, -1, &axis))
        return mw_term_none();
    MwSite inner = mw_site_inner(call->site);
    int64_t size = mw_value_tensor(ex->graph, x)->dim[axis];
    int64_t first = size - (shift % size + size) % size;
    if (first == size)
        return mw_term_tensor(x);
    MwValueId parts[] = {mw_emit_range(ex, inner, MW_OP_SLICE, x, axis, first, size),
                         mw_emit_range(ex, inner, MW_OP_SLICE, x, axis, 0, first)};
    return mw_term_tensor(mw_emit_concat(ex, call->site, parts, 2, axis));
}

MwTerm mw_function_flip(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t *axes;
    int count, axis;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_ints(ex, call, 1, &axes, &count))
        return mw_term_none();
    for (int i = 0; i < count; i++) {
        if (!mw_axis_normalize(ex, call->given[1].span, call->callee, x, axes[i], &axis))
            return mw_term_none();
        const MwAttr attr = mw_attr_int(MW_ATTR_AXIS, axis);
        const MwSite site = i + 1 < count ? mw_site_inner(call->site) : call->site;
        x = mw_emit(ex, site, MW_OP_FLIP, &x, 1, &attr, 1);
        if (!mw_has_value(x))
            break;
    }
    return mw_term_tensor(x);
}

/* Every stride-th element of dimension `axis` of `x`, from its first. The dimension is parted into
 * groups of `stride`, of which each gives its first; zeros complete the last group. */
static MwValueId emit_strided(MwExpander *ex, const MwCall *call, MwValueId x, int axis,
                              int64_t stride)
{
    MwSite inner = mw_site_inner(call->site);
    if (!mw_has_value(x))
        return x;
    MwTensor shape = *mw_value_tensor(ex->graph, x);
    int64_t size = shape.dim[axis], groups = 1 + (size - 1) / stride, rest;
    if (groups == 1) /* the stride may be as large as it wants */
        return mw_emit_range(ex, call->site, MW_OP_SLICE, x, axis, 0, 1);
    rest = groups * stride - size;
    if (rest)
        x = mw_emit_range(ex, inner, MW_OP_PAD, x, axis, 0, rest);
    shape.dim[axis] = stride;
    if (!insert_dim(ex, call, &shape, axis, groups))
        return mw_no_value();
    x = mw_emit_reshape(ex, inner, x, &shape);
    x = mw_emit_range(ex, inner, MW_OP_SLICE, x, axis + 1, 0, 1);
    mw_tensor_remove_dim(&shape, axis + 1);
    return mw_emit_reshape(ex, call->site, x, &shape);
}

MwValueId mw_emit_part(MwExpander *ex, const MwCall *call, MwValueId x, int axis, int64_t begin,
                       int64_t end, int64_t stride)
{
    if (stride == 1)
        return mw_emit_range(ex, call->site, MW_OP_SLICE, x, axis, begin, end);
    if (begin != 0 || end != mw_value_tensor(ex->graph, x)->dim[axis])
        x = mw_emit_range(ex, mw_site_inner(call->site), MW_OP_SLICE, x, axis, begin, end);
    return emit_strided(ex, call, x, axis, stride);
}

/* 1 where the class is the id, in a last dimension of its own. */
MwTerm mw_function_one_hot(MwExpander *ex, const MwCall *call)
{
    MwValueId ids;
    int64_t classes;
    MwType type;
    if (!mw_call_tensor(ex, call, 0, &ids) ||
        !mw_want_int(ex, call->given[1].term, mw_call_want(ex, call, 1), &classes) ||
        !mw_call_type(ex, call, 2, MW_F32, &type))
        return mw_term_none();
    MwTensor shape = *mw_value_tensor(ex->graph, ids);
    MwSite inner = mw_site_inner(call->site);
    if (!mw_type_is_index(shape.type)) {
        mw_expand_error(ex, call->given[0].span, "one_hot needs i32 or i64 ids, not %s",
                        mw_term_describe(ex, call->given[0].term));
        return mw_term_none();
    }
    const MwTensor line = mw_tensor(shape.type, 1, &classes);
    MwValueId each = mw_emit_iota(ex, inner, &line, 0);
    MwValueId column = expand_at(ex, call, inner, ids, shape.rank);
    MwValueId hit = mw_emit_binary(ex, inner, MW_OP_EQ, column, each);
    return mw_term_tensor(mw_emit_cast(ex, call->site, hit, type));
}
