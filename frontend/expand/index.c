/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/expand/index.h"

#include "frontend/functions/expansions.h"

/* The elements begin, begin + stride and so on, below end. */
typedef struct {
    int64_t begin, end, stride;
} Range;

static bool is_whole(Range range, int64_t size)
{
    return range.begin == 0 && range.end == size && range.stride == 1;
}

/* ---- Items ---- */

/* Reads the place of an element among `size`. `whose` is what messages call those. */
static bool read_element(MwExpander *ex, const MwPlace *place, const char *whose, int64_t size,
                         int64_t *at)
{
    const MwSpan span = place->item->span;
    if (place->at.kind == MW_TERM_TENSOR)
        mw_expand_note(ex, mw_span_none(),
                       "gather(x, ids, axis) takes the elements that a tensor has the numbers of");
    if (!mw_want_int(ex, place->at, (MwWant){"the place in [ ]", span}, at))
        return false;
    if (*at < -size || *at >= size) {
        mw_expand_error(ex, span, "%s has no element %lld", whose, (long long)*at);
        return false;
    }
    *at += *at < 0 ? size : 0;
    return true;
}

/* Leaves *value as it is where no bound is given. */
static bool read_bound(MwExpander *ex, const MwExpr *expr, MwTerm bound, int64_t size,
                       int64_t *value)
{
    if (!expr)
        return true;
    if (!mw_want_int(ex, bound, (MwWant){"a bound in [ ]", expr->span}, value))
        return false;
    *value += *value < 0 ? size : 0;
    return true;
}

static bool read_stride(MwExpander *ex, const MwExpr *expr, MwTerm stride, int64_t *value)
{
    if (!expr)
        return true;
    if (!mw_want_int(ex, stride, (MwWant){"the stride in [ ]", expr->span}, value))
        return false;
    if (*value >= 1)
        return true;
    mw_expand_note(ex, mw_span_none(), "flip(x, axis) turns the order of elements round");
    mw_expand_error(ex, expr->span, "the stride in [ ] is at least 1, not %lld", (long long)*value);
    return false;
}

/* Reads a range of at least `least` of `size` elements. */
static bool read_range(MwExpander *ex, const MwPlace *place, const char *whose, int64_t size,
                       int least, Range *range)
{
    const MwIndexItem *item = place->item;
    *range = (Range){0, size, 1};
    if (!read_bound(ex, item->begin, place->begin, size, &range->begin) ||
        !read_bound(ex, item->end, place->end, size, &range->end) ||
        !read_stride(ex, item->stride, place->stride, &range->stride))
        return false;
    if (range->begin >= 0 && range->begin <= size && range->end <= size &&
        range->begin + least <= range->end)
        return true;
    mw_expand_error(ex, item->span, "%s has no elements from %lld up to, not including, %lld",
                    whose, (long long)range->begin, (long long)range->end);
    return false;
}

/* ---- Lists ---- */

static MwTerm index_list(MwExpander *ex, MwSite site, MwTerm list, const MwPlaces *places)
{
    const MwPlace *place = &places->at[0];
    const int count = list.list.count;
    const char *whose = mw_arena_printf(ex->arena, "a list of %d", count);
    int64_t at;
    Range range;
    if (places->count > 1 || place->item->kind == MW_INDEX_REST) {
        mw_expand_error(ex, site.span, "[ ] takes one place or range of a list");
        return mw_term_none();
    }
    if (place->item->kind == MW_INDEX_ELEMENT)
        return read_element(ex, place, whose, count, &at) ? list.list.at[at] : mw_term_none();
    if (!read_range(ex, place, whose, count, 0, &range))
        return mw_term_none();
    MwTerm *part = MW_NEW(ex->arena, MwTerm, count);
    int taken = 0;
    for (int64_t i = range.begin; i < range.end; i += mw_min(range.stride, count)) /* no overflow */
        part[taken++] = list.list.at[i];
    return mw_term_list(part, taken);
}

/* ---- Tensors ---- */

/* What is taken of each dimension of a tensor. */
typedef struct {
    Range range[MW_MAX_RANK];
    bool is_element[MW_MAX_RANK]; /* the dimension goes */
    int last;                     /* the last dimension of which not all is taken; -1: none */
    bool lacks;                   /* dimensions go */
} Part;

static int count_rests(const MwPlaces *places)
{
    int rests = 0;
    for (int i = 0; i < places->count; i++)
        rests += places->at[i].item->kind == MW_INDEX_REST;
    return rests;
}

/* Reads what is taken of dimension `dim` of a tensor of the type that `type` says. */
static bool read_place(MwExpander *ex, const MwPlace *place, const char *type, int64_t size,
                       int dim, Part *part)
{
    const char *whose = mw_arena_printf(ex->arena, "dimension %d of %s", dim, type);
    Range *range = &part->range[dim];
    if (place->item->kind == MW_INDEX_ELEMENT) {
        if (!read_element(ex, place, whose, size, &range->begin))
            return false;
        range->end = range->begin + 1;
        part->is_element[dim] = part->lacks = true;
    } else if (!read_range(ex, place, whose, size, 1, range)) {
        return false;
    }
    if (!is_whole(*range, size))
        part->last = dim;
    return true;
}

/* Reads the places, of which `...` is for as many dimensions as are left. */
static bool read_part(MwExpander *ex, MwSite site, const MwTensor *x, const MwPlaces *places,
                      Part *part)
{
    const int rests = count_rests(places);
    char type[MW_TENSOR_TEXT_BYTES];
    mw_tensor_text(x, type);
    *part = (Part){.last = -1};
    for (int d = 0; d < x->rank; d++)
        part->range[d] = (Range){0, x->dim[d], 1};
    if (rests > 1)
        mw_expand_error(ex, site.span, "[ ] has '...' once at most");
    else if (places->count - rests > x->rank)
        mw_expand_error(ex, site.span, "[ ] has more places than %s has dimensions", type);
    if (rests > 1 || places->count - rests > x->rank)
        return false;
    for (int i = 0, dim = 0; i < places->count; i++)
        if (places->at[i].item->kind == MW_INDEX_REST)
            dim += x->rank - (places->count - 1);
        else if (!read_place(ex, &places->at[i], type, x->dim[dim], dim, part))
            return false;
        else
            dim++;
    return true;
}

/* Takes a range of a dimension. */
static MwValueId emit_range(MwExpander *ex, MwSite site, MwValueId x, int axis, Range range)
{
    const MwCall call = {.site = site, .callee = "[ ]"};
    return mw_emit_part(ex, &call, x, axis, range.begin, range.end, range.stride);
}

static MwTerm index_tensor(MwExpander *ex, MwSite site, MwValueId x, const MwPlaces *places)
{
    const MwTensor whole = *mw_value_tensor(ex->graph, x);
    const MwSite inner = mw_site_inner(site);
    Part part;
    if (!read_part(ex, site, &whole, places, &part))
        return mw_term_none();
    for (int d = 0; d <= part.last && mw_has_value(x); d++)
        if (!is_whole(part.range[d], whole.dim[d]))
            x = emit_range(ex, d == part.last && !part.lacks ? site : inner, x, d, part.range[d]);
    if (!part.lacks || !mw_has_value(x))
        return mw_term_tensor(x);
    MwTensor left = *mw_value_tensor(ex->graph, x);
    for (int d = whole.rank - 1; d >= 0; d--)
        if (part.is_element[d])
            mw_tensor_remove_dim(&left, d);
    return mw_term_tensor(mw_emit_reshape(ex, site, x, &left));
}

MwTerm mw_index(MwExpander *ex, MwSite site, MwTerm of, const MwPlaces *places)
{
    if (of.kind == MW_TERM_LIST)
        return index_list(ex, site, of, places);
    if (of.kind == MW_TERM_TENSOR)
        return index_tensor(ex, site, of.value, places);
    if (of.kind != MW_TERM_NONE)
        mw_expand_error(ex, site.span, "[ ] takes a part of a list or a tensor, not of %s",
                        mw_term_describe(ex, of));
    return mw_term_none();
}
