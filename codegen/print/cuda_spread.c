/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a nest is spread over threads (cuda_nest.h). */
#include "codegen/print/cuda_spread.h"

#include "codegen/print/cuda_places.h"
#include "codegen/print/cuda_tiles.h"

#include <stdlib.h>

enum {
    MOST_BLOCKS = 16384, /* of a grid: threads take more turns then */
    FULL_BLOCKS = 1024,  /* keep a large device busy; */
    SUM_BLOCKS = 384,    /* so do these if each has many threads, */
    TURN_BLOCKS = 256,   /* and these if a thread has several turns in flight */
    TURN_BYTES = 64,     /* that a thread has in flight, */
    MOST_TURNS = 4,      /* in so many turns */
    FEW_COLUMNS = 16,    /* that one thread takes alone */
    WARP_ELEMENTS = 32,  /* of a row that a thread of a warp takes before there are more warps; */
    WARPS = 8,           /* of a block whose warps take rows of their own */
    MOST_ELEMENTS = 16,  /* that a thread of several warps takes before there are more; of both half
                          * where what it finds is kept: many warps with little each hide more than
                          * few that can have many registers */
    MOST_THREADS = 1024,
    REGISTERS = 65536,     /* of all threads that a multiprocessor runs at once, */
    OTHER_REGISTERS = 28,  /* and what a thread needs besides what it has of its columns */
    SUM_THREADS = 512,     /* of a block that sums over rows, if several share a row */
    MOST_THREAD_ROWS = 64, /* that a thread sums in the type of their elements */
    SUM_CHUNKS = 256,      /* of a set of a flat kernel: MW_MOST_SUM_CHUNKS of prelude_cuda.h */
    ALIGNED = 64,          /* floats: where what blocks leave begins */
};

/* ---- The plan of a nest ---- */

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

static bool is_point_access(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_POINT &&
           (instr->op == MW_KERNEL_LOAD || mw_instr_is_effect(instr));
}

/* Whether `width` neighbours along the innermost dimension are one aligned access. */
static bool is_wide_access(const MwNest *nest, const MwKernelInstr *instr, int width)
{
    const MwAffine *at = &instr->at;
    int inner = nest->space.dim_count - 1;
    bool moves = instr->input_count > mw_instr_is_effect(instr);
    if (!is_point_access(instr) || at->stride[inner] != 1 || at->arg_count || at->offset % width ||
        (moves && instr->gather_stride % width))
        return false;
    for (int d = 0; d < inner; d++)
        if (at->stride[d] % width)
            return false;
    const MwKernelInstr *by =
        moves ? mw_nest_instr(nest, instr->inputs[instr->input_count - 1]) : instr;
    return !moves || by->level < MW_LEVEL_POINT;
}

/* Whether an access has an element of its own at every point: not what rows share. */
static bool is_streamed(const MwNest *nest, const MwKernelInstr *instr)
{
    for (int d = 0; d < nest->space.dim_count; d++)
        if (!instr->at.stride[d] && !(d < nest->space.row_dims && instr->gather_stride))
            return false;
    return true;
}

/* Eight halves are an access of 16 bytes; where elements of four bytes stream too, four are enough. */
static bool takes_eight(const MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    bool gains = false;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (!is_wide_access(nest, instr, 4))
            continue;
        bool streams = is_streamed(nest, instr), is_short = mw_cuda_element_bytes(n, instr) <= 2;
        if (!is_wide_access(nest, instr, 8) || (streams && !is_short))
            return false;
        gains |= streams;
    }
    return gains;
}

/* Neighbours at a time, if that makes every access of columns wide or the same for them. */
static int choose_width(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    bool *is_wide = MW_NEW(n->p.out->arena, bool, nest->instrs.count);
    bool gains = false;
    if (!mw_cuda_has_columns(n) || nest->space.size[nest->space.dim_count - 1] % 4)
        return 1;
    int width = takes_eight(n) && nest->space.size[nest->space.dim_count - 1] % 8 == 0 ? 8 : 4;
    for (int i = 0; i < nest->instrs.count; i++) {
        is_wide[i] = is_wide_access(nest, &nest->instrs.at[i], width);
        gains |= is_wide[i];
        if (is_addition(&nest->instrs.at[i]) && !is_wide[i])
            return 1;
    }
    if (!gains)
        return 1;
    n->p.is_wide = is_wide;
    return width;
}

/* So many that enough bytes are on their way; those of stores where nothing is loaded. */
static int choose_turns(const MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    int64_t bytes[2] = {0};
    for (int i = 0; i < nest->instrs.count && n->p.is_wide; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (n->p.is_wide[i])
            bytes[mw_instr_is_effect(instr)] += n->width * mw_cuda_element_bytes(n, instr);
    }
    int64_t of_turn = bytes[0] ? bytes[0] : bytes[1];
    return of_turn ? (int)mw_min(mw_max(TURN_BYTES / of_turn, 1), MOST_TURNS) : 1;
}

/* Whether all indices and places are below 2^31. */
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

static int64_t power_of_two(int64_t at_least)
{
    int64_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

static void spread_points(MwCudaNest *n)
{
    int64_t units = n->rows * n->columns / n->width;
    n->group = 1;
    n->threads = MW_POINT_THREADS;
    n->items = 1;
    n->turns = choose_turns(n);
    while (n->turns > 1 && units < (int64_t)TURN_BLOCKS * n->threads * n->turns)
        n->turns /= 2;
    n->blocks = mw_min(mw_ceil_div(units, n->threads * n->turns), MOST_BLOCKS);
}

/* Warps for `units` neighbours of a row, such that few threads are idle: the most items a thread that
 * leave an eighth of them or less without one, or else the fewest idle; more where there are no so many
 * threads. */
static int choose_group(int64_t units, int most_items)
{
    int64_t best = 0, least = INT64_MAX;
    for (int items = most_items; items >= 1; items--) {
        int64_t threads = mw_ceil_div(mw_ceil_div(units, items), MW_WARP) * MW_WARP;
        int64_t idle = threads * items - units;
        if (threads > MOST_THREADS || idle >= least)
            continue;
        best = threads;
        least = idle;
        if (idle * 8 <= units)
            break;
    }
    int64_t items = mw_ceil_div(units, MOST_THREADS);
    return (int)(best ? best : mw_ceil_div(mw_ceil_div(units, items), MW_WARP) * MW_WARP);
}

/* Groups of several warps wait for each other, so each must have a row whenever another has one. */
static int groups_of_warps(int64_t rows, int group)
{
    int groups = (int)mw_max(SUM_THREADS / group, 1);
    while (rows % groups)
        groups--;
    return groups;
}

/* How the threads of a block share rows. */
static void choose_threads(MwCudaNest *n)
{
    int64_t units = n->columns / n->width;
    bool sums = n->p.has_column_sums;
    int share = mw_phases_most_kept(&n->p.phases, n->p.nest) ? 2 : 1;
    if (n->columns <= FEW_COLUMNS && !sums)
        n->group = 1;
    else if (units < MW_WARP && !sums && n->rows % (MW_WARP / power_of_two(units)) == 0)
        n->group =
            (int)power_of_two(units); /* the lanes of a warp have rows all at once, or none */
    else if (n->columns <= MW_WARP * WARP_ELEMENTS / share && !sums)
        n->group = MW_WARP;
    else
        n->group = choose_group(units, sums ? 1 : MOST_ELEMENTS / share / n->width);
    int groups = n->group > MW_WARP ? sums ? groups_of_warps(n->rows, n->group) : 1
                                    : MW_WARP * WARPS / n->group;
    n->threads = n->group * groups;
    n->items = mw_ceil_div(units, n->group);
}

/* Whether a thread has the registers for what is kept of its columns, and for their sums over rows. */
static bool has_registers(const MwCudaNest *n)
{
    int64_t values = mw_phases_most_kept(&n->p.phases, n->p.nest);
    for (int i = 0; i < n->p.nest->instrs.count; i++)
        values += mw_instr_reduces_rows(&n->p.nest->instrs.at[i]);
    return values * n->items * n->width + OTHER_REGISTERS <= REGISTERS / n->threads;
}

static void spread_rows(MwCudaNest *n)
{
    choose_threads(n);
    if (!has_registers(n)) {
        n->p.phases = mw_phases_plan(n->p.out->arena, n->p.kernel, n->p.nest, 0, true);
        choose_threads(n);
    }
    int groups = n->threads / n->group;
    n->blocks = mw_ceil_div(n->rows, groups);
    if (n->p.has_column_sums)
        n->blocks = mw_max(mw_min(n->blocks, SUM_BLOCKS),
                           mw_ceil_div(n->rows, (int64_t)groups * MOST_THREAD_ROWS));
    n->blocks = mw_min(n->blocks, MOST_BLOCKS);
    n->sums = n->blocks;
    n->kept = n->width == 1 ? "item" : mw_arena_printf(n->p.out->arena, "item * %d + q", n->width);
}

/* Rows are shared out so that there are enough blocks, but no more sums of few rows than that. */
static void spread_columns(MwCudaNest *n)
{
    int64_t units = n->columns / n->width;
    n->group = (int)mw_min(power_of_two(units), MW_WARP);
    n->threads = MW_POINT_THREADS;
    n->items = 1;
    int64_t at_once = n->threads / n->group, tiles = mw_ceil_div(units, n->group);
    n->turns = n->width > 1 ? choose_turns(n) : 1;
    while (n->turns > 1 && n->rows < at_once * n->turns)
        n->turns /= 2;
    int64_t parts =
        mw_min(mw_ceil_div(FULL_BLOCKS, tiles), mw_ceil_div(n->rows, at_once * n->turns));
    parts = mw_max(parts, mw_ceil_div(n->rows, at_once * MOST_THREAD_ROWS));
    int64_t rounds = mw_ceil_div(mw_ceil_div(n->rows, parts), at_once * n->turns);
    n->block_rows = rounds * at_once * n->turns;
    n->sums = mw_ceil_div(n->rows, n->block_rows);
    n->blocks = tiles * n->sums;
    n->kept = n->width == 1 ? "0" : "q";
}

/* Every buffer begins at a multiple of 16 bytes, and every access of points with its buffer. */
static void spread_flat(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    bool *is_wide = MW_NEW(n->p.out->arena, bool, nest->instrs.count);
    for (int i = 0; i < nest->instrs.count; i++)
        is_wide[i] = is_point_access(&nest->instrs.at[i]);
    n->p.is_wide = is_wide;
    n->width = takes_eight(n) ? 8 : 4;
    n->turns = choose_turns(n);
    n->threads = MW_POINT_THREADS;
    n->blocks = SUM_CHUNKS;
    n->index = "int";
}

/* A number per column for every part of a sum over rows, and one (of 8 bytes at most) for every block of
 * a total. */
static void place_sums(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    n->sums_at = MW_NEW(n->p.out->arena, int64_t, nest->instrs.count);
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        n->sums_at[i] = n->scratch;
        if (mw_instr_reduces_rows(instr) && !mw_cuda_sums_at_once(n))
            n->scratch += mw_ceil_div(n->sums * n->columns, ALIGNED) * ALIGNED;
        else if (mw_instr_reduces_all(instr) ||
                 (n->spread == MW_SPREAD_FLAT && mw_instr_reduces_row(instr)))
            n->scratch += mw_ceil_div(2 * n->blocks, ALIGNED) * ALIGNED;
    }
}

/* A thread that has but a part of a row does nothing that happens once per row. */
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

MwCudaNest mw_cuda_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int number)
{
    MwCudaNest n = {.p = {.out = out, .kernel = kernel, .nest = nest, .indent = 1},
                    .nest = number,
                    .rows = 1,
                    .columns = mw_space_columns(&nest->space)};
    for (int d = 0; d < nest->space.row_dims; d++)
        n.rows *= nest->space.size[d];
    n.p.phases = mw_phases_plan(out->arena, kernel, nest, MW_KEPT_MAX_COLUMNS, true);
    n.p.has_column_sums = any_instr(nest, mw_instr_reduces_rows);
    n.has_totals = any_instr(nest, mw_instr_reduces_all);
    n.has_end = any_instr(nest, is_end);
    n.index = is_small(nest) ? "int" : "int64_t";
    n.spread = choose_spread(&n);
    if (n.spread == MW_SPREAD_POINTS && mw_cuda_choose_tiles(&n))
        n.spread = MW_SPREAD_TILES;
    if (n.spread != MW_SPREAD_FLAT)
        n.width = n.spread == MW_SPREAD_TILES ? 1 : choose_width(&n);
    if (n.spread == MW_SPREAD_POINTS)
        spread_points(&n);
    else if (n.spread == MW_SPREAD_ROWS)
        spread_rows(&n);
    else if (n.spread == MW_SPREAD_COLUMNS)
        spread_columns(&n);
    else if (n.spread == MW_SPREAD_FLAT)
        spread_flat(&n);
    else if (n.spread == MW_SPREAD_PLACES)
        mw_cuda_spread_places(&n);
    place_sums(&n);
    return n;
}
