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

static bool read_int(MwExpander *ex, const MwExpr *at, const char *what, int64_t *value)
{
    return mw_want_int(ex, mw_eval(ex, at, mw_one_value()), (MwWant){what, at->span}, value);
}

/* Reads the place of an element among `size`. `whose` is what messages call those. */
static bool read_element(MwExpander *ex, const MwIndexItem *item, const char *whose, int64_t size,
                         int64_t *at)
{
    const MwTerm term = mw_eval(ex, item->at, mw_one_value());
    if (term.kind == MW_TERM_TENSOR)
        mw_expand_note(ex, mw_span_none(),
                       "gather(x, ids, axis) takes the elements that a tensor has the numbers of");
    if (!mw_want_int(ex, term, (MwWant){"the place in [ ]", item->span}, at))
        return false;
    if (*at < -size || *at >= size) {
        mw_expand_error(ex, item->span, "%s has no element %lld", whose, (long long)*at);
        return false;
    }
    *at += *at < 0 ? size : 0;
    return true;
}

static bool read_bound(MwExpander *ex, const MwExpr *at, int64_t size, int64_t *value)
{
    if (!at)
        return true;
    if (!read_int(ex, at, "a bound in [ ]", value))
        return false;
    *value += *value < 0 ? size : 0;
    return true;
}

/* Reads a range of at least `least` of `size` elements. */
static bool read_range(MwExpander *ex, const MwIndexItem *item, const char *whose, int64_t size,
                       int least, Range *range)
{
    *range = (Range){0, size, 1};
    if (!read_bound(ex, item->begin, size, &range->begin) ||
        !read_bound(ex, item->end, size, &range->end) ||
        (item->stride && !read_int(ex, item->stride, "the stride in [ ]", &range->stride)))
        return false;
    if (range->stride < 1) {
        mw_expand_note(ex, mw_span_none(), "flip(x, axis) turns the order of elements round");
        mw_expand_error(ex, item->stride->span, "the stride in [ ] is at least 1, not %lld",
                        (long long)range->stride);
        return false;
    }
    if (range->begin >= 0 && range->begin + least <= range->end && range->end <= size)
        return true;
    mw_expand_error(ex, item->span, "%s has no elements from %lld up to, not including, %lld",
                    whose, (long long)range->begin, (long long)range->end);
    return false;
}

/* ---- Lists ---- */

static MwTerm index_list(MwExpander *ex, const MwExpr *expr, MwTerm list)
{
    const MwIndexItem *item = &expr->index.items.at[0];
    const int count = list.list.count;
    const char *whose = mw_arena_printf(ex->arena, "a list of %d", count);
    int64_t at;
    Range range;
    if (expr->index.items.count > 1 || item->kind == MW_INDEX_REST) {
        mw_expand_error(ex, expr->span, "[ ] takes one place or range of a list");
        return mw_term_none();
    }
    if (item->kind == MW_INDEX_ELEMENT)
        return read_element(ex, item, whose, count, &at) ? list.list.at[at] : mw_term_none();
    if (!read_range(ex, item, whose, count, 0, &range))
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

/* Reads the items, of which `...` is for as many dimensions as are left. */
static bool read_part(MwExpander *ex, const MwExpr *expr, const MwTensor *x, Part *part)
{
    const MwIndexItems *items = &expr->index.items;
    int rests = 0, dim = 0;
    for (int i = 0; i < items->count; i++)
        rests += items->at[i].kind == MW_INDEX_REST;
    char type[MW_TENSOR_TEXT_BYTES];
    mw_tensor_text(x, type);
    if (rests > 1 || items->count - rests > x->rank) {
        mw_expand_error(ex, expr->span,
                        rests > 1 ? "[ ] has '...' once at most"
                                  : "[ ] has more places than %s has dimensions",
                        type);
        return false;
    }
    *part = (Part){.last = -1};
    for (int d = 0; d < x->rank; d++)
        part->range[d] = (Range){0, x->dim[d], 1};
    for (int i = 0; i < items->count; i++, dim++) {
        const MwIndexItem *item = &items->at[i];
        if (item->kind == MW_INDEX_REST) {
            dim += x->rank - items->count; /* and one */
            continue;
        }
        const char *whose = mw_arena_printf(ex->arena, "dimension %d of %s", dim, type);
        Range *range = &part->range[dim];
        part->is_element[dim] = item->kind == MW_INDEX_ELEMENT;
        if (part->is_element[dim] ? !read_element(ex, item, whose, x->dim[dim], &range->begin)
                                  : !read_range(ex, item, whose, x->dim[dim], 1, range))
            return false;
        if (part->is_element[dim])
            range->end = range->begin + 1;
        part->lacks |= part->is_element[dim];
        part->last = is_whole(*range, x->dim[dim]) ? part->last : dim;
    }
    return true;
}

/* Takes a range of a dimension. */
static MwValueId emit_range(MwExpander *ex, MwSite site, MwValueId x, int axis, Range range)
{
    const MwSite inner = mw_site_inner(site);
    if (range.stride == 1)
        return mw_emit_range(ex, site, MW_OP_SLICE, x, axis, range.begin, range.end);
    const MwCall call = {.site = site, .callee = "[ ]"};
    if (range.begin > 0 || range.end < mw_value_tensor(ex->graph, x)->dim[axis])
        x = mw_emit_range(ex, inner, MW_OP_SLICE, x, axis, range.begin, range.end);
    return mw_emit_strided(ex, &call, x, axis, range.stride);
}

static MwTerm index_tensor(MwExpander *ex, const MwExpr *expr, MwValueId x, MwTargets targets)
{
    const MwSite site = {expr->span, targets, "'[ ]'"}, inner = mw_site_inner(site);
    const MwTensor whole = *mw_value_tensor(ex->graph, x);
    Part part;
    if (!read_part(ex, expr, &whole, &part))
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

MwTerm mw_eval_index(MwExpander *ex, const MwExpr *expr, MwTargets targets)
{
    const MwTerm of = mw_eval(ex, expr->index.of, mw_one_value());
    if (of.kind == MW_TERM_LIST)
        return index_list(ex, expr, of);
    if (of.kind == MW_TERM_TENSOR)
        return index_tensor(ex, expr, of.value, targets);
    if (of.kind != MW_TERM_NONE)
        mw_expand_error(ex, expr->span, "[ ] takes a part of a list or a tensor, not of %s",
                        mw_term_describe(ex, of));
    return mw_term_none();
}
