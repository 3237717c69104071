/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Separation of a cost table into unary costs and a residual.
 *
 * For each dimension, the least entry of every slice is subtracted from the slice and projected
 * onto the node (soft arc consistency: Cooper et al., Artificial Intelligence 174, 2010, section
 * 4). The residual is non-negative and has a least entry of zero in every slice. Slices that are
 * then equal become one class.
 *
 * All work is done in place, because the tables of edges are most of a problem and most residuals
 * are small: only the residual is interned. */
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

/* Finds the least entry of each slice. The slices of the last dimension have runs of one entry
 * (inner == 1); then the loop over the slices is the longer one and is the inner loop. */
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

/* Subtracts the least entry of each slice from it. Returns these entries, or NULL if all are zero.
 * A slice whose entries are all forbidden stays as it is. */
static const int64_t *project_slices(MwArena *arena, const Slices *slices, int64_t *least)
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

/* Merges equal slices and keeps the first of each class. Returns the number of classes; class[s] is
 * the class of slice s. */
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

/* Says whether all entries of some slice are forbidden. Separating the residual again would then
 * forbid that slice once more, so the residual is not marked as separated. */
static bool forbids_slice(const MwSeparation *separation, int arity, const int *dims)
{
    bool forbids = false;
    for (int dim = 0; dim < arity; dim++)
        for (int s = 0; separation->unary[dim] && s < dims[dim]; s++)
            forbids |= separation->unary[dim][s] >= MW_FORBIDDEN;
    return forbids;
}

const MwSeparation *mw_separate(MwArena *arena, MwTables *tables, int arity, const int *dims,
                                int64_t *values)
{
    MwArena *scratch = mw_arena_new();
    MwSeparation *separation = MW_NEW(arena, MwSeparation, 1);
    separation->unary = MW_NEW(arena, const int64_t *, arity);
    separation->merged = MW_NEW(arena, const MwTable *, arity);
    int left[MW_TABLE_ARITY] = {0};
    int64_t count = 1;
    for (int dim = 0; dim < arity; dim++) {
        Slices slices = slices_of(arity, dims, dim, values);
        separation->unary[dim] =
            project_slices(arena, &slices, MW_NEW(scratch, int64_t, dims[dim]));
        left[dim] = dims[dim];
        count *= dims[dim];
    }
    if (!all_zero(values, count)) {
        for (int dim = 0; dim < arity; dim++) {
            Slices slices = slices_of(arity, left, dim, values);
            int64_t *class = MW_NEW(scratch, int64_t, slices.size);
            left[dim] = merge_equal(scratch, &slices, class);
            if (left[dim] < slices.size)
                separation->merged[dim] = mw_table_intern(tables, 1, &slices.size, class);
        }
        separation->residual = mw_table_intern(tables, arity, left, values);
        if (!forbids_slice(separation, arity, dims))
            mw_table_mark_separated(separation->residual);
    }
    mw_arena_free(&scratch);
    return separation;
}
