/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that make constants and types, and that change shapes. */
#include "frontend/functions/expansions.h"

#include "ir/arithmetic.h"

#include <math.h>

/* A constant becomes a whole number; a tensor keeps its type. */
static MwTerm rounded(MwExpander *ex, const MwCall *call, MwOp op)
{
    double value;
    if (call->given[0].term.kind == MW_TERM_TENSOR)
        return mw_apply(ex, call->site, op, &call->given[0].term, 1);
    if (!mw_want_number(ex, call->given[0].term, mw_call_want(ex, call, 0), &value))
        return mw_term_none();
    if (!isfinite(value)) {
        mw_expand_error(ex, call->given[0].span, "%s of %g is no whole number", call->callee,
                        value);
        return mw_term_none();
    }
    value = mw_arithmetic_apply(op, value, 0);
    if (value >= -0x1p62 && value <= 0x1p62)
        return mw_term_int((int64_t)value);
    mw_expand_error(ex, call->site.span, "%g does not fit in 64 bits", value);
    return mw_term_none();
}

MwTerm mw_function_floor(MwExpander *ex, const MwCall *call)
{
    return rounded(ex, call, MW_OP_FLOOR);
}

MwTerm mw_function_ceil(MwExpander *ex, const MwCall *call)
{
    return rounded(ex, call, MW_OP_CEIL);
}

MwTerm mw_function_round(MwExpander *ex, const MwCall *call)
{
    return rounded(ex, call, MW_OP_ROUND);
}

MwTerm mw_function_cast(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    MwType type;
    if (!mw_call_tensor(ex, call, 0, &x) ||
        !mw_want_type(ex, call->given[1].term, mw_call_want(ex, call, 1), &type))
        return mw_term_none();
    MwAttr attr = mw_attr_int(MW_ATTR_TYPE, type);
    return mw_call_emit(ex, call, MW_OP_CAST, &x, 1, &attr, 1);
}

MwTerm mw_function_constant(MwExpander *ex, const MwCall *call)
{
    MwTerm value = call->given[0].term;
    MwType type = value.kind == MW_TERM_INT    ? MW_I32
                  : value.kind == MW_TERM_BOOL ? MW_BOOL
                                               : MW_F32;
    double number = value.kind == MW_TERM_BOOL ? value.b : 0;
    int64_t *shape;
    int rank;
    if ((value.kind != MW_TERM_BOOL &&
         !mw_want_number(ex, value, mw_call_want(ex, call, 0), &number)) ||
        !mw_call_ints(ex, call, 1, &shape, &rank) || !mw_call_type(ex, call, 2, type, &type))
        return mw_term_none();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, type), mw_attr_ints(MW_ATTR_SHAPE, shape, rank),
                      mw_attr_float(MW_ATTR_VALUE, number)};
    return mw_call_emit(ex, call, MW_OP_CONSTANT, NULL, 0, attrs, MW_COUNT(attrs));
}

MwTerm mw_function_iota(MwExpander *ex, const MwCall *call)
{
    MwType type;
    int64_t *shape, axis;
    int rank;
    if (!mw_call_ints(ex, call, 0, &shape, &rank) || !mw_call_int(ex, call, 1, 0, &axis) ||
        !mw_call_type(ex, call, 2, MW_I32, &type))
        return mw_term_none();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_TYPE, type), mw_attr_ints(MW_ATTR_SHAPE, shape, rank),
                      mw_attr_int(MW_ATTR_AXIS, axis < 0 ? axis + rank : axis)};
    return mw_call_emit(ex, call, MW_OP_IOTA, NULL, 0, attrs, MW_COUNT(attrs));
}

/* Replaces the one -1 of a shape by the size that gives as many elements as `x` has. */
static bool complete_shape(MwExpander *ex, const MwCall *call, const MwTensor *x, int64_t *shape,
                           int rank)
{
    int open = -1;
    double known = 1;
    for (int d = 0; d < rank; d++) {
        if (shape[d] == -1 && open < 0)
            open = d;
        else
            known *= (double)shape[d];
    }
    if (open < 0)
        return true;
    int64_t elements = mw_tensor_elements(x);
    if (known >= 1 && known <= (double)elements && elements % (int64_t)known == 0) {
        shape[open] = elements / (int64_t)known;
        return true;
    }
    char text[MW_TENSOR_TEXT_BYTES];
    mw_expand_error(ex, call->given[1].span,
                    "no size can stand for -1: %s has %lld elements, the other sizes make %.0f",
                    mw_tensor_text(x, text), (long long)elements, known);
    return false;
}

MwTerm mw_function_reshape(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t *shape;
    int rank;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_ints(ex, call, 1, &shape, &rank) ||
        !complete_shape(ex, call, mw_value_tensor(ex->graph, x), shape, rank))
        return mw_term_none();
    MwAttr attr = mw_attr_ints(MW_ATTR_SHAPE, shape, rank);
    return mw_call_emit(ex, call, MW_OP_RESHAPE, &x, 1, &attr, 1);
}

MwTerm mw_function_broadcast(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t *shape;
    int rank;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_ints(ex, call, 1, &shape, &rank))
        return mw_term_none();
    MwAttr attr = mw_attr_ints(MW_ATTR_SHAPE, shape, rank);
    return mw_call_emit(ex, call, MW_OP_BROADCAST, &x, 1, &attr, 1);
}

MwTerm mw_function_transpose(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t *perm;
    int count;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_ints(ex, call, 1, &perm, &count))
        return mw_term_none();
    int rank = mw_value_tensor(ex->graph, x)->rank;
    for (int i = 0; i < count; i++)
        perm[i] += perm[i] < 0 ? rank : 0;
    MwAttr attr = mw_attr_ints(MW_ATTR_PERM, perm, count);
    return mw_call_emit(ex, call, MW_OP_TRANSPOSE, &x, 1, &attr, 1);
}

static MwTerm emit_split(MwExpander *ex, MwSite site, MwValueId x, int axis, const int64_t *sizes,
                         int count)
{
    if (!mw_expand_charge(ex, site.span, count))
        return mw_term_none();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_ints(MW_ATTR_SIZES, sizes, count)};
    return mw_emit_all(ex, site, MW_OP_SPLIT, &x, 1, attrs, MW_COUNT(attrs));
}

/* The sizes of `count` equal parts of dimension `axis` of `x`; NULL after an error at argument
 * k. */
static int64_t *equal_sizes(MwExpander *ex, const MwCall *call, int k, MwValueId x, int axis,
                            int64_t count)
{
    const MwTensor *tensor = mw_value_tensor(ex->graph, x);
    char text[MW_TENSOR_TEXT_BYTES];
    if (count < 1 || tensor->dim[axis] % count != 0) {
        mw_expand_error(ex, call->given[k].span,
                        "dimension %d of %s cannot be split into %lld equal parts", axis,
                        mw_tensor_text(tensor, text), (long long)count);
        return NULL;
    }
    if (!mw_expand_charge(ex, call->site.span, count))
        return NULL;
    int64_t *sizes = MW_NEW(ex->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        sizes[i] = tensor->dim[axis] / count;
    return sizes;
}

MwTerm mw_function_split(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int64_t *sizes;
    int axis, count;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 2, x, -1, &axis) ||
        !mw_call_ints(ex, call, 1, &sizes, &count))
        return mw_term_none();
    if (call->given[1].term.kind == MW_TERM_INT) {
        int64_t parts = sizes[0];
        sizes = equal_sizes(ex, call, 1, x, axis, parts);
        count = (int)parts;
    }
    return sizes ? emit_split(ex, call->site, x, axis, sizes, count) : mw_term_none();
}

/* A split into parts of size 1, each reshaped to lose that dimension. */
MwTerm mw_function_unstack(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int axis;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 1, x, 0, &axis))
        return mw_term_none();
    MwTensor part = *mw_value_tensor(ex->graph, x);
    int64_t count = part.dim[axis];
    int64_t *sizes = equal_sizes(ex, call, 0, x, axis, count);
    if (!sizes)
        return mw_term_none();
    mw_tensor_remove_dim(&part, axis);
    MwTerm parts = emit_split(ex, mw_site_inner(call->site), x, axis, sizes, (int)count);
    if (parts.kind == MW_TERM_NONE)
        return parts;
    MwTerm list = parts.kind == MW_TERM_TENSOR
                      ? mw_term_list(mw_arena_dup(ex->arena, &parts, sizeof parts), 1)
                      : parts;
    for (int k = 0; k < list.list.count; k++)
        list.list.at[k] = mw_term_tensor(mw_emit_reshape(
            ex, mw_site_part(call->site, k, (int)count), list.list.at[k].value, &part));
    return list;
}

MwTerm mw_function_slice(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int axis;
    int64_t begin, end, stride;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 1, x, 0, &axis) ||
        !mw_want_int(ex, call->given[2].term, mw_call_want(ex, call, 2), &begin) ||
        !mw_want_int(ex, call->given[3].term, mw_call_want(ex, call, 3), &end) ||
        !mw_call_int(ex, call, 4, 1, &stride))
        return mw_term_none();
    const int64_t size = mw_value_tensor(ex->graph, x)->dim[axis];
    begin += begin < 0 ? size : 0;
    end += end < 0 ? size : 0;
    if (stride < 1) {
        mw_expand_error(ex, call->given[4].span, "the stride of a slice is at least 1, not %lld",
                        (long long)stride);
        return mw_term_none();
    }
    if (stride > 1)
        return mw_term_tensor(mw_emit_part(ex, call, x, axis, begin, end, stride));
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_BEGIN, begin),
                      mw_attr_int(MW_ATTR_END, end)};
    return mw_call_emit(ex, call, MW_OP_SLICE, &x, 1, attrs, MW_COUNT(attrs));
}

MwTerm mw_function_pad(MwExpander *ex, const MwCall *call)
{
    MwValueId x;
    int axis;
    int64_t begin, end;
    if (!mw_call_tensor(ex, call, 0, &x) || !mw_call_axis(ex, call, 1, x, 0, &axis) ||
        !mw_call_int(ex, call, 2, 0, &begin) || !mw_call_int(ex, call, 3, 0, &end))
        return mw_term_none();
    MwAttr attrs[] = {mw_attr_int(MW_ATTR_AXIS, axis), mw_attr_int(MW_ATTR_BEGIN, begin),
                      mw_attr_int(MW_ATTR_END, end)};
    return mw_call_emit(ex, call, MW_OP_PAD, &x, 1, attrs, MW_COUNT(attrs));
}

bool mw_call_tensors(MwExpander *ex, const MwCall *call, MwValueId **values, int *count)
{
    MW_VEC(MwValueId) all = {0};
    for (int i = 0; i < call->rest_count; i++) {
        MwTerm term = call->rest[i].term;
        const MwTerm *at = term.kind == MW_TERM_LIST ? term.list.at : &term;
        int terms = term.kind == MW_TERM_LIST ? term.list.count : 1;
        MwWant want = {mw_arena_printf(ex->arena, "what %s joins", call->callee),
                       call->rest[i].span};
        if (!mw_expand_charge(ex, call->site.span, terms))
            return false;
        for (int k = 0; k < terms; k++)
            if (!mw_want_tensor(ex, at[k], want, mw_vec_add(ex->arena, &all)))
                return false;
    }
    *values = all.at;
    *count = all.count;
    if (!all.count)
        mw_expand_error(ex, call->site.span, "%s needs at least one tensor", call->callee);
    return all.count > 0;
}

MwTerm mw_function_concat(MwExpander *ex, const MwCall *call)
{
    MwValueId *values;
    int count, axis;
    if (!mw_call_tensors(ex, call, &values, &count) ||
        !mw_call_axis(ex, call, 1, values[0], 0, &axis))
        return mw_term_none();
    MwAttr attr = mw_attr_int(MW_ATTR_AXIS, axis);
    return mw_call_emit(ex, call, MW_OP_CONCAT, values, count, &attr, 1);
}

MwTerm mw_function_len(MwExpander *ex, const MwCall *call)
{
    MwTerm list = call->given[0].term;
    if (list.kind == MW_TERM_LIST)
        return mw_term_int(list.list.count);
    mw_expand_error(ex, call->given[0].span, "len counts the elements of a list, not of %s",
                    mw_term_describe(ex, list));
    return mw_term_none();
}
