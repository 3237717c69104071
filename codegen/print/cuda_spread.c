/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_spread.h"

#include "codegen/print/cuda_places.h"
#include "codegen/print/cuda_tiles.h"
#include "codegen/print/cuda_width.h"
#include "codegen/print/prelude_chunks.h"
#include "codegen/tuning.h"

#include <stdlib.h>

enum { SUMS_ALIGNED = 64 /* floats: alignment of the blocks' parts of a sum */ };

/* ---- Properties of a nest ---- */

static bool any_instr(const MwNest *nest, bool (*is)(const MwKernelInstr *))
{
    for (int i = 0; i < nest->instrs.count; i++)
        if (is(&nest->instrs.at[i]))
            return true;
    return false;
}

static bool is_addition(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_ADD;
}

static bool is_row_effect(const MwKernelInstr *instr)
{
    return mw_instr_is_effect(instr) && instr->level == MW_LEVEL_ROW;
}

static bool is_end(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_TOTAL ||
           (mw_instr_is_effect(instr) && instr->level == MW_LEVEL_UNIFORM);
}

/* Says whether 32 bits hold every index and the position of every access. */
static bool is_small(const MwNest *nest)
{
    int64_t points = 1;
    for (int d = 0; d < nest->space.dim_count; d++)
        points *= nest->space.size[d];
    bool small = points < INT32_MAX / 2;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwAffine *at = &nest->instrs.at[i].at;
        int64_t most = llabs(at->offset);
        for (int d = 0; d < nest->space.dim_count; d++)
            most += llabs(at->stride[d]) * (nest->space.size[d] - 1);
        small = small && most < INT32_MAX;
    }
    return small;
}

/* ---- Threads and blocks ---- */

static int64_t power_of_two(int64_t at_least)
{
    int64_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

static void spread_points(MwCudaNest *n)
{
    int64_t units = n->rows * mw_cuda_units(n);
    n->group = 1;
    n->threads = MW_TUNED_CUDA_POINT_THREADS;
    n->items = 1;
    n->turns = mw_cuda_choose_turns(n);
    while (n->turns > 1 && units < (int64_t)MW_TUNED_CUDA_TURN_BLOCKS * n->threads * n->turns)
        n->turns /= 2;
    n->blocks = mw_min(mw_ceil_div(units, n->threads * n->turns), MW_TUNED_CUDA_GRID_BLOCKS);
}

/* Returns the number of threads for the `units` of a row: whole warps that leave the fewest threads
 * idle, and among these the number with the most units per thread, up to `most_items`. A thread
 * takes more units if a block has too few threads. */
static int choose_group(int64_t units, int most_items)
{
    int64_t best = 0, least = INT64_MAX;
    for (int items = most_items; items >= 1; items--) {
        int64_t threads = mw_ceil_div(mw_ceil_div(units, items), MW_WARP) * MW_WARP;
        int64_t idle = threads * items - units;
        if (threads > MW_CUDA_BLOCK_THREADS || idle >= least)
            continue;
        best = threads;
        least = idle;
    }
    int64_t items = mw_ceil_div(units, MW_CUDA_BLOCK_THREADS);
    return (int)(best ? best : mw_ceil_div(mw_ceil_div(units, items), MW_WARP) * MW_WARP);
}

/* Returns the number of groups in a block. Groups of several warps in one block wait at the same
 * barriers, so each must have a row whenever another has one: their number divides the rows. */
static int groups_of_warps(int64_t rows, int group)
{
    int groups = (int)mw_max(MW_TUNED_CUDA_SUM_THREADS / group, 1);
    while (rows % groups)
        groups--;
    return groups;
}

/* Returns the number of threads that share a row. */
static int choose_row_group(const MwCudaNest *n)
{
    const int64_t units = mw_cuda_units(n), part = power_of_two(units);
    const bool sums = n->p.has_column_sums;
    const int share = mw_phases_most_kept(&n->p.phases, n->p.nest) ? 2 : 1;
    if (sums)
        return choose_group(units, 1);
    if (n->columns <= MW_TUNED_CUDA_THREAD_ELEMENTS)
        return 1;
    /* The lanes of a warp exchange together, so they have rows all at once, or none. */
    if (units < MW_WARP && n->rows % (MW_WARP / part) == 0)
        return (int)part;
    if (n->columns <= MW_WARP * MW_TUNED_CUDA_WARP_ELEMENTS / share)
        return MW_WARP;
    return choose_group(units, MW_TUNED_CUDA_THREAD_ELEMENTS / share / n->width);
}

/* Chooses how the threads of a block share rows. */
static void choose_threads(MwCudaNest *n)
{
    int groups = 1;
    n->group = choose_row_group(n);
    if (n->group <= MW_WARP)
        groups = MW_TUNED_CUDA_POINT_THREADS / n->group;
    else if (n->p.has_column_sums)
        groups = groups_of_warps(n->rows, n->group);
    n->threads = n->group * groups;
    n->items = mw_ceil_div(mw_cuda_units(n), n->group);
}

/* Says whether half of the registers of a thread hold the values that it keeps of its columns and
 * their sums over rows; the other half is for everything else. */
static bool has_registers(const MwCudaNest *n)
{
    int64_t values = mw_phases_most_kept(&n->p.phases, n->p.nest);
    for (int i = 0; i < n->p.nest->instrs.count; i++)
        values += mw_instr_reduces_rows(&n->p.nest->instrs.at[i]);
    return values * n->items * n->width <= MW_CUDA_REGISTERS / n->threads / 2;
}

/* Plans the phases of a row, and the threads that take it, with values kept for which a thread has
 * the registers; the others are loaded where they are needed, or computed again. */
static void plan_phases(MwCudaNest *n)
{
    static const struct {
        int most_columns;
        MwPhaseLoads loads;
    } ways[] = {{MW_TUNED_KEPT_COLUMNS, MW_LOADS_FIRST},
                {MW_TUNED_KEPT_COLUMNS, MW_LOADS_KEPT},
                {0, MW_LOADS_KEPT}};
    for (int i = 0; i < MW_COUNT(ways); i++) {
        n->p.phases = mw_phases_plan(n->p.out->arena, n->p.kernel, n->p.nest, ways[i].most_columns,
                                     ways[i].loads);
        choose_threads(n);
        if (has_registers(n))
            return;
    }
}

/* Plans groups of threads that take rows. */
static void spread_rows(MwCudaNest *n)
{
    plan_phases(n);
    int groups = n->threads / n->group;
    n->blocks = mw_ceil_div(n->rows, groups);
    if (n->p.has_column_sums)
        n->blocks = mw_max(mw_min(n->blocks, MW_TUNED_CUDA_SUM_BLOCKS),
                           mw_ceil_div(n->rows, (int64_t)groups * MW_TUNED_FLOAT_ROWS));
    n->blocks = mw_min(n->blocks, MW_TUNED_CUDA_GRID_BLOCKS);
    n->sums = n->blocks;
    n->kept = n->width == 1 ? "item" : mw_arena_printf(n->p.out->arena, "item * %d + q", n->width);
}

/* Plans blocks that take some columns of some rows. There are enough blocks for a large GPU, but no
 * more, since each makes a part of a sum; and a thread adds up at most MW_TUNED_FLOAT_ROWS rows in
 * the type of the elements. */
static void spread_columns(MwCudaNest *n)
{
    int64_t units = mw_cuda_units(n);
    n->group = (int)mw_min(power_of_two(units), MW_WARP);
    n->threads = MW_TUNED_CUDA_POINT_THREADS;
    n->items = 1;
    int64_t at_once = n->threads / n->group, tiles = mw_ceil_div(units, n->group);
    n->turns = n->width > 1 ? mw_cuda_choose_turns(n) : 1;
    while (n->turns > 1 && n->rows < at_once * n->turns)
        n->turns /= 2;
    int64_t parts =
        mw_min(mw_ceil_div(MW_BLOCKS_WANTED, tiles), mw_ceil_div(n->rows, at_once * n->turns));
    parts = mw_max(parts, mw_ceil_div(n->rows, at_once * MW_TUNED_FLOAT_ROWS));
    int64_t rounds = mw_ceil_div(mw_ceil_div(n->rows, parts), at_once * n->turns);
    n->block_rows = rounds * at_once * n->turns;
    n->sums = mw_ceil_div(n->rows, n->block_rows);
    n->blocks = tiles * n->sums;
    n->kept = n->width == 1 ? "0" : "q";
}

static void spread_flat(MwCudaNest *n)
{
    mw_cuda_choose_flat_width(n);
    n->turns = mw_cuda_choose_turns(n);
    n->threads = MW_TUNED_CUDA_POINT_THREADS;
    n->blocks = MW_MOST_SUM_CHUNKS;
    n->index = "int";
}

/* Assigns each sum a place in the scratch memory for the parts that blocks store: a number for each
 * column and each part of a sum over rows, and a number (of at most 8 bytes) for each block of a
 * sum over all points. */
static void place_sums(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    n->sums_at = MW_NEW(n->p.out->arena, int64_t, nest->instrs.count);
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        n->sums_at[i] = n->scratch;
        if (mw_instr_reduces_rows(instr) && !mw_cuda_sums_at_once(n))
            n->scratch += mw_ceil_div(mw_cuda_words(instr) * n->sums * n->columns, SUMS_ALIGNED) *
                          SUMS_ALIGNED;
        else if (mw_instr_reduces_all(instr) ||
                 (n->spread == MW_SPREAD_FLAT && mw_instr_reduces_row(instr)))
            n->scratch += mw_ceil_div(2 * n->blocks, SUMS_ALIGNED) * SUMS_ALIGNED;
    }
}

/* ---- The plan of a nest ---- */

/* Chooses how the nest is spread over threads. Blocks cannot take some columns of some rows if
 * something happens once per row. */
static MwSpread choose_spread(const MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    if (n->p.kernel->is_flat)
        return MW_SPREAD_FLAT;
    if (any_instr(nest, is_addition))
        return MW_SPREAD_PLACES;
    if (n->has_totals || any_instr(nest, mw_instr_reduces_row))
        return MW_SPREAD_ROWS;
    if (n->p.has_column_sums)
        return any_instr(nest, is_row_effect) ? MW_SPREAD_ROWS : MW_SPREAD_COLUMNS;
    return MW_SPREAD_POINTS;
}

static void choose_blocks(MwCudaNest *n)
{
    switch (n->spread) {
    case MW_SPREAD_POINTS:
        mw_cuda_choose_width(n);
        spread_points(n);
        return;
    case MW_SPREAD_TILES: /* chosen with their blocks */
        return;
    case MW_SPREAD_ROWS:
        mw_cuda_choose_width(n);
        spread_rows(n);
        return;
    case MW_SPREAD_COLUMNS:
        mw_cuda_choose_width(n);
        spread_columns(n);
        return;
    case MW_SPREAD_PLACES:
        mw_cuda_choose_width(n);
        mw_cuda_spread_places(n);
        return;
    case MW_SPREAD_FLAT:
        spread_flat(n);
        return;
    }
    MW_UNREACHABLE();
}

MwCudaNest mw_cuda_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int number)
{
    MwCudaNest n = {.p = {.out = out, .kernel = kernel, .nest = nest, .indent = 1},
                    .nest = number,
                    .rows = 1,
                    .columns = mw_space_columns(&nest->space)};
    for (int d = 0; d < nest->space.row_dims; d++)
        n.rows *= nest->space.size[d];
    n.p.phases = mw_phases_plan(out->arena, kernel, nest, MW_TUNED_KEPT_COLUMNS, MW_LOADS_KEPT);
    n.p.has_column_sums = any_instr(nest, mw_instr_reduces_rows);
    n.has_totals = any_instr(nest, mw_instr_reduces_all);
    n.has_end = any_instr(nest, is_end);
    n.index = is_small(nest) ? "int" : "int64_t";
    n.spread = choose_spread(&n);
    if (n.spread == MW_SPREAD_POINTS && mw_cuda_choose_tiles(&n))
        n.spread = MW_SPREAD_TILES;
    choose_blocks(&n);
    place_sums(&n);
    return n;
}
