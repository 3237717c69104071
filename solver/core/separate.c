/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For each dimension of a table, the least entry of every slice is taken off the slice. What is
 * left is non-negative with a least entry of zero in every slice; slices that are then equal are
 * one class. All is done in place, since tables of edges are the bulk of a problem and most of them
 * are small once that is done: only the result is interned. */
#include "solver/core/separate.h"

#include "base/hash.h"
#include "solver/cost.h"

#include <string.h>

/* Row-major values seen from one dimension: values[outer][size][inner]. */
typedef struct {
    int64_t outer, inner;
    int size;
    int64_t *at;
} Slices;

static Slices slices_of(int arity, const int *dims, int dim, int64_t *values)
{
    Slices slices = {1, 1, dims[dim], values};
    for (int i = 0; i < arity; i++) {
        slices.outer *= i < dim ? dims[i] : 1;
        slices.inner *= i > dim ? dims[i] : 1;
    }
    return slices;
}

static int64_t *run_of(const Slices *slices, int64_t outer, int64_t slice)
{
    return slices->at + (outer * slices->size + slice) * slices->inner;
}

/* Runs of one value are those of the last dimension: then a loop over the slices is the longer
 * one. */
MW_VECTORISED static void find_least(const Slices *slices, int64_t *least)
{
    const int size = slices->size;
    for (int s = 0; s < size; s++)
        least[s] = MW_FORBIDDEN;
    for (int64_t i = 0; i < slices->outer; i++) {
        const int64_t *run = run_of(slices, i, 0);
        for (int s = 0; s < size && slices->inner == 1; s++)
            least[s] = mw_min(least[s], run[s]);
        for (int s = 0; s < size && slices->inner > 1; s++, run += slices->inner) {
            int64_t of_run = least[s];
            for (int64_t k = 0; k < slices->inner; k++)
                of_run = mw_min(of_run, run[k]);
            least[s] = of_run;
        }
    }
}

MW_VECTORISED static void subtract(const Slices *slices, const int64_t *least)
{
    const int size = slices->size;
    for (int64_t i = 0; i < slices->outer; i++) {
        int64_t *run = run_of(slices, i, 0);
        for (int s = 0; s < size && slices->inner == 1; s++)
            run[s] = mw_cost_subtract(run[s], least[s]);
        for (int s = 0; s < size && slices->inner > 1; s++, run += slices->inner)
            for (int64_t k = 0; k < slices->inner; k++)
                run[k] = mw_cost_subtract(run[k], least[s]);
    }
}

/* Subtracts the least entry of each slice and returns these, or NULL if all are zero. A slice that
 * is forbidden throughout stays. */
static const int64_t *take_margin(MwArena *arena, const Slices *slices, int64_t *least)
{
    find_least(slices, least);
    bool any = false;
    for (int s = 0; s < slices->size; s++)
        any |= least[s] != 0;
    if (!any)
        return NULL;
    subtract(slices, least);
    return mw_arena_dup(arena, least, sizeof *least * (size_t)slices->size);
}

static bool equal(const Slices *slices, int s, int t)
{
    for (int64_t i = 0; i < slices->outer; i++)
        if (memcmp(run_of(slices, i, s), run_of(slices, i, t),
                   sizeof(int64_t) * (size_t)slices->inner) != 0)
            return false;
    return true;
}

static void hash_slices(const Slices *slices, uint64_t *hash)
{
    for (int64_t i = 0; i < slices->outer; i++)
        for (int s = 0; s < slices->size; s++) {
            const int64_t *run = run_of(slices, i, s);
            uint64_t of_run = slices->inner == 1
                                  ? (uint64_t)*run
                                  : mw_hash_bytes(run, sizeof *run * (size_t)slices->inner);
            hash[s] = mw_hash_mix(hash[s], of_run);
        }
}

/* Keeps the first of equal slices. Returns their number; class[s] is the one that s is in. */
static int merge_equal(MwArena *scratch, const Slices *slices, int64_t *class)
{
    uint64_t *hash = MW_NEW(scratch, uint64_t, slices->size);
    int *first = MW_NEW(scratch, int, slices->size), count = 0;
    hash_slices(slices, hash);
    for (int s = 0; s < slices->size; s++) {
        int c = 0;
        while (c < count && (hash[first[c]] != hash[s] || !equal(slices, first[c], s)))
            c++;
        if (c == count)
            first[count++] = s;
        class[s] = c;
    }
    int64_t *to = slices->at;
    for (int64_t i = 0; i < slices->outer && count < slices->size; i++)
        for (int c = 0; c < count; c++, to += slices->inner)
            memmove(to, run_of(slices, i, first[c]), sizeof *to * (size_t)slices->inner);
    return count;
}

static bool all_zero(const int64_t *values, int64_t count)
{
    int64_t any = 0;
    for (int64_t i = 0; i < count; i++)
        any |= values[i];
    return any == 0;
}

/* Whether a slice is forbidden throughout: then the rest, separated again, forbids it once more. */
static bool forbids_slice(const MwSeparation *parts, int arity, const int *dims)
{
    bool forbids = false;
    for (int dim = 0; dim < arity; dim++)
        for (int s = 0; parts->margin[dim] && s < dims[dim]; s++)
            forbids |= parts->margin[dim][s] >= MW_FORBIDDEN;
    return forbids;
}

const MwSeparation *mw_separate(MwArena *arena, MwTables *tables, int arity, const int *dims,
                                int64_t *values)
{
    MwArena *scratch = mw_arena_new();
    MwSeparation *made = MW_NEW(arena, MwSeparation, 1);
    made->margin = MW_NEW(arena, const int64_t *, arity);
    made->merged = MW_NEW(arena, const MwTable *, arity);
    int left[MW_TABLE_ARITY] = {0};
    int64_t count = 1;
    for (int dim = 0; dim < arity; dim++) {
        Slices slices = slices_of(arity, dims, dim, values);
        made->margin[dim] = take_margin(arena, &slices, MW_NEW(scratch, int64_t, dims[dim]));
        left[dim] = dims[dim];
        count *= dims[dim];
    }
    if (!all_zero(values, count)) {
        for (int dim = 0; dim < arity; dim++) {
            Slices slices = slices_of(arity, left, dim, values);
            int64_t *class = MW_NEW(scratch, int64_t, slices.size);
            left[dim] = merge_equal(scratch, &slices, class);
            if (left[dim] < slices.size)
                made->merged[dim] = mw_table_intern(tables, 1, &slices.size, class);
        }
        made->rest = mw_table_intern(tables, arity, left, values);
        if (!forbids_slice(made, arity, dims))
            mw_table_mark_separated(made->rest);
    }
    mw_arena_free(&scratch);
    return made;
}
