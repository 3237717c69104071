/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices that are looked up by indices along an axis. */
#include "frontend/functions/expansions.h"

/* x, of which slices along `axis` are numbered, and the indices of some of them. */
typedef struct {
    MwValueId x, ids;
    int axis;
    MwTensor shape, ids_shape; /* of these */
} Slices;

/* Arguments 0, 1 and `k`: x, ids, axis. */
static bool read_slices(MwExpander *ex, const MwCall *call, int k, Slices *s)
{
    if (!mw_call_tensor(ex, call, 0, &s->x) || !mw_call_tensor(ex, call, 1, &s->ids) ||
        !mw_call_axis(ex, call, k, s->x, 0, &s->axis))
        return false;
    s->shape = *mw_value_tensor(ex->graph, s->x);
    s->ids_shape = *mw_value_tensor(ex->graph, s->ids);
    const MwType type = s->shape.type;
    if ((mw_type_is_float(type) || mw_type_is_index(type)) && mw_type_is_index(s->ids_shape.type) &&
        s->shape.rank - 1 + s->ids_shape.rank <= MW_MAX_RANK)
        return true;
    mw_expand_error(
        ex, call->site.span,
        "%s needs floats, i32 or i64, and i32 or i64 ids, with at most %d dimensions in the place "
        "of the axis and the others, not %s and %s",
        call->callee, MW_MAX_RANK, mw_term_describe(ex, call->given[0].term),
        mw_term_describe(ex, call->given[1].term));
    return false;
}

/* The order of dimensions in which the `count` dimensions from `axis` on come first; `back`, that
 * which undoes it. */
static void front_order(int rank, int axis, int count, bool back, int64_t *perm)
{
    for (int d = 0; d < rank; d++) {
        const int from = d < count ? axis + d : d < axis + count ? d - count : d;
        if (back)
            perm[from] = d;
        else
            perm[d] = from;
    }
}

/* Moves the `count` dimensions from `axis` on to the front, or back. */
static MwValueId to_front(MwExpander *ex, MwSite site, MwValueId x, int axis, int count, bool back)
{
    int64_t perm[MW_MAX_RANK];
    if (!mw_has_value(x) || axis == 0)
        return x;
    front_order(mw_value_tensor(ex->graph, x)->rank, axis, count, back, perm);
    return mw_emit_transpose(ex, site, x, perm);
}

/* `x` with its first `count` dimensions as they are, and the others as one. */
static MwValueId flat_rest(MwExpander *ex, MwSite site, MwValueId x, int count)
{
    if (!mw_has_value(x))
        return x;
    MwTensor flat = *mw_value_tensor(ex->graph, x);
    int64_t rest = 1;
    while (flat.rank > count) {
        rest *= flat.dim[flat.rank - 1];
        mw_tensor_remove_dim(&flat, flat.rank - 1);
    }
    mw_tensor_insert_dim(&flat, count, rest);
    return mw_emit_reshape(ex, site, x, &flat);
}

/* The shape of slices: that of x, with the dimensions of the ids in the place of `axis`. */
static MwTensor shape_of_slices(const Slices *s)
{
    MwTensor shape = s->shape;
    mw_tensor_remove_dim(&shape, s->axis);
    for (int d = 0; d < s->ids_shape.rank; d++)
        mw_tensor_insert_dim(&shape, s->axis + d, s->ids_shape.dim[d]);
    return shape;
}

/* A tensor of the shape of slices with the ids' dimensions in front. */
static MwTensor in_front(const Slices *s, const MwTensor *shape, int count)
{
    int64_t perm[MW_MAX_RANK];
    MwTensor front = *shape;
    front_order(shape->rank, s->axis, count, false, perm);
    for (int d = 0; d < shape->rank; d++)
        front.dim[d] = shape->dim[perm[d]];
    return front;
}

/* Rows of a table, which x is with `axis` in front. */
static MwValueId gather_rows(MwExpander *ex, MwSite site, const Slices *s)
{
    const MwSite inner = mw_site_inner(site);
    const MwTensor result = shape_of_slices(s), front = in_front(s, &result, s->ids_shape.rank);
    const MwValueId x = to_front(ex, inner, s->x, s->axis, 1, false);
    const MwValueId table = flat_rest(ex, inner, x, 1);
    const MwValueId rows = mw_emit_binary(ex, inner, MW_OP_EMBEDDING, s->ids, table);
    if (s->axis == 0)
        return mw_emit_reshape(ex, site, rows, &front);
    return to_front(ex, site, mw_emit_reshape(ex, inner, rows, &front), s->axis, s->ids_shape.rank,
                    true);
}

/* Elements of every row: along the last dimension of several, where nothing need move. */
static MwValueId gather_elements(MwExpander *ex, MwSite site, const Slices *s)
{
    const MwSite inner = mw_site_inner(site);
    const MwTensor result = shape_of_slices(s);
    MwTensor wide = s->shape;
    wide.dim[s->axis] = mw_tensor_elements(&s->ids_shape);
    const MwTensor line = mw_tensor(s->ids_shape.type, 1, &wide.dim[s->axis]);
    const MwValueId ids = mw_emit_reshape(ex, inner, s->ids, &line);
    const MwValueId all = mw_emit_broadcast(ex, inner, ids, &wide);
    const MwValueId taken = mw_emit_binary(ex, inner, MW_OP_TAKE_ALONG, s->x, all);
    return mw_emit_reshape(ex, site, taken, &result);
}

static MwValueId emit_gather(MwExpander *ex, MwSite site, const Slices *s)
{
    const bool is_last = s->axis == s->shape.rank - 1 && s->axis > 0;
    return is_last ? gather_elements(ex, site, s) : gather_rows(ex, site, s);
}

MwValueId mw_emit_gather(MwExpander *ex, MwSite site, MwValueId x, MwValueId ids, int axis)
{
    if (!mw_has_value(x) || !mw_has_value(ids))
        return mw_no_value();
    const Slices s = {x, ids, axis, *mw_value_tensor(ex->graph, x),
                      *mw_value_tensor(ex->graph, ids)};
    return emit_gather(ex, site, &s);
}

MwTerm mw_function_gather(MwExpander *ex, const MwCall *call)
{
    Slices s;
    if (!read_slices(ex, call, 2, &s))
        return mw_term_none();
    return mw_term_tensor(emit_gather(ex, call->site, &s));
}

/* x and, at each id, the sum of the updates of that id. */
MwTerm mw_function_scatter_add(MwExpander *ex, const MwCall *call)
{
    Slices s;
    MwValueId updates;
    if (!read_slices(ex, call, 3, &s) || !mw_call_tensor(ex, call, 2, &updates))
        return mw_term_none();
    const MwTensor wanted = shape_of_slices(&s);
    if (!mw_tensor_equal(&wanted, mw_value_tensor(ex->graph, updates))) {
        char text[MW_TENSOR_TEXT_BYTES];
        mw_expand_error(ex, call->given[2].span, "'updates' of scatter_add must be %s, not %s",
                        mw_tensor_text(&wanted, text), mw_term_describe(ex, call->given[2].term));
        return mw_term_none();
    }
    const MwSite inner = mw_site_inner(call->site);
    const MwTensor front = in_front(&s, &s.shape, 1);
    const int64_t entries = front.dim[0];
    const int64_t table[] = {entries, mw_tensor_elements(&front) / entries};
    const MwAttr shape = mw_attr_ints(MW_ATTR_SHAPE, table, 2);
    const MwValueId moved = to_front(ex, inner, updates, s.axis, s.ids_shape.rank, false);
    const MwValueId rows = flat_rest(ex, inner, moved, s.ids_shape.rank);
    MwValueId sum =
        mw_emit(ex, inner, MW_OP_EMBEDDING_GRAD, (MwValueId[]){s.ids, rows}, 2, &shape, 1);
    sum = to_front(ex, inner, mw_emit_reshape(ex, inner, sum, &front), s.axis, 1, true);
    return mw_term_tensor(mw_emit_binary(ex, call->site, MW_OP_ADD, s.x, sum));
}
