/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a nest is spread over threads (print_cuda_rules.h). */
#include "codegen/print_cuda_rules.h"

#include <stdlib.h>

enum {
    MOST_BLOCKS = 4096,  /* of a grid: threads take more turns then */
    FEW_COLUMNS = 16,    /* that one thread takes alone */
    WARP_COLUMNS = 1024, /* that a warp takes at most */
    WARPS = 8,           /* of a block whose warps take rows of their own */
    ITEMS = 4,           /* that a thread of a block takes before there are more threads */
    LEAST_THREADS = 64,
    MOST_THREADS = 1024,
    BLOCK_ROWS = 64, /* summed by one block, */
    PART_ROWS = 64,  /* for each part of the places that rows are added to, */
    MOST_PARTS = 64,
    MOST_SUM_BLOCKS = 512, /* unless there would be more blocks than these */
    ALIGNED = 64,          /* floats: where the sums of blocks begin */
};

/* ---- The plan of a nest ---- */

static bool any_instr(const MwNest *nest, bool (*is)(const MwKernelInstr *))
{
    for (int i = 0; i < nest->instrs.count; i++)
        if (is(&nest->instrs.at[i]))
            return true;
    return false;
}

static bool is_ordered(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_ADD;
}

static bool is_end(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_TOTAL ||
           (mw_instr_is_effect(instr) && instr->level == MW_LEVEL_UNIFORM);
}

bool mw_cuda_has_columns(const MwCudaNest *n)
{
    return n->p.nest->space.dim_count > n->p.nest->space.row_dims;
}

static bool is_point_access(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_POINT &&
           (instr->op == MW_KERNEL_LOAD || instr->op == MW_KERNEL_STORE);
}

/* Whether four neighbours along the innermost dimension are one aligned access. */
static bool is_wide_access(const MwNest *nest, const MwKernelInstr *instr)
{
    const MwAffine *at = &instr->at;
    int inner = nest->space.dim_count - 1;
    bool moves = instr->input_count > mw_instr_is_effect(instr);
    if (!is_point_access(instr) || at->stride[inner] != 1 || at->arg_count || at->offset % 4 ||
        (moves && instr->gather_stride % 4))
        return false;
    for (int d = 0; d < inner; d++)
        if (at->stride[d] % 4)
            return false;
    const MwKernelInstr *by =
        moves ? mw_nest_instr(nest, instr->inputs[instr->input_count - 1]) : instr;
    return !moves || by->level < MW_LEVEL_POINT;
}

/* Four columns at a time, if that makes every access of columns wide or the same for the four. */
static int choose_width(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    int inner = nest->space.dim_count - 1;
    bool *is_wide = MW_NEW(n->p.out->arena, bool, nest->instrs.count);
    bool gains = false;
    if (!mw_cuda_has_columns(n) || nest->space.size[inner] % 4)
        return 1;
    for (int i = 0; i < nest->instrs.count; i++) {
        is_wide[i] = is_wide_access(nest, &nest->instrs.at[i]);
        gains |= is_wide[i];
    }
    if (!gains)
        return 1;
    n->p.is_wide = is_wide;
    return 4;
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
    n->group = 1;
    n->threads = MW_POINT_THREADS;
    n->items = 1;
    n->blocks = mw_min(mw_ceil_div(n->rows * n->columns / n->width, n->threads), MOST_BLOCKS);
}

static void spread_rows(MwCudaNest *n)
{
    bool sums = n->p.has_column_sums || n->has_totals;
    int64_t units = n->columns / n->width;
    if (n->columns <= FEW_COLUMNS && !n->p.has_column_sums) {
        n->group = 1;
        n->threads = MW_POINT_THREADS;
    } else if (n->columns <= WARP_COLUMNS && !n->p.has_column_sums) {
        n->group = MW_WARP;
        n->threads = MW_WARP * WARPS;
    } else {
        n->threads = (int)mw_min(mw_max(power_of_two(mw_ceil_div(units, ITEMS)), LEAST_THREADS),
                                 MOST_THREADS);
        n->group = n->threads;
    }
    n->items = mw_ceil_div(units, n->group);
    n->blocks = mw_ceil_div(n->rows, n->threads / n->group);
    if (sums)
        n->blocks = mw_min(mw_ceil_div(n->blocks, BLOCK_ROWS), MOST_SUM_BLOCKS);
    n->blocks = mw_min(n->blocks, MOST_BLOCKS);
}

/* The addition, where it is all that a nest does and a value of the row says where to add; NULL. */
static const MwKernelInstr *only_addition(const MwNest *nest)
{
    const MwKernelInstr *only = NULL;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (!mw_instr_is_effect(instr))
            continue;
        if (only || !is_ordered(instr) || instr->level != MW_LEVEL_POINT || instr->input_count < 2)
            return NULL;
        only = instr;
    }
    return only && mw_nest_instr(nest, only->inputs[1])->level == MW_LEVEL_ROW ? only : NULL;
}

/* One block, where rows are reduced too; else blocks take columns, and parts of the places, of their
 * own. */
static void spread_ordered(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    bool reduces = n->p.has_column_sums || n->has_totals || any_instr(nest, mw_instr_reduces_row);
    spread_rows(n);
    n->parts = 1;
    n->threads = n->group = (int)mw_min(mw_max(power_of_two(n->columns), MW_WARP),
                                        reduces ? MOST_THREADS : MW_POINT_THREADS);
    n->blocks = reduces ? 1 : mw_ceil_div(n->columns, n->threads);
    n->items = reduces ? mw_ceil_div(n->columns, n->threads) : 1;
    const MwKernelInstr *addition = reduces ? NULL : only_addition(nest);
    if (addition) {
        n->place = addition->inputs[1];
        n->parts = (int)mw_min(mw_ceil_div(n->rows, PART_ROWS), MOST_PARTS);
    }
    n->blocks *= n->parts;
    if (reduces)
        n->spread = MW_SPREAD_ROWS;
}

/* Each block leaves a number per column of a sum over rows, and one of a total (8 bytes at most). */
static void place_sums(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    n->sums_at = MW_NEW(n->p.out->arena, int64_t, nest->instrs.count);
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        n->sums_at[i] = n->scratch;
        if (mw_instr_reduces_rows(instr))
            n->scratch += mw_ceil_div(n->blocks * n->columns, ALIGNED) * ALIGNED;
        else if (mw_instr_reduces_all(instr))
            n->scratch += mw_ceil_div(2 * n->blocks, ALIGNED) * ALIGNED;
    }
}

MwCudaNest mw_cuda_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int number)
{
    MwCudaNest n = {.p = {.out = out, .kernel = kernel, .nest = nest, .indent = 1},
                    .nest = number,
                    .rows = 1,
                    .columns = mw_space_columns(&nest->space)};
    for (int d = 0; d < nest->space.row_dims; d++)
        n.rows *= nest->space.size[d];
    n.p.phases = mw_phases_plan(out->arena, kernel, nest, true);
    n.p.has_column_sums = any_instr(nest, mw_instr_reduces_rows);
    n.has_totals = any_instr(nest, mw_instr_reduces_all);
    n.has_end = any_instr(nest, is_end);
    n.index = is_small(nest) ? "int" : "int64_t";
    bool reduces = any_instr(nest, mw_instr_reduces_row);
    n.spread = any_instr(nest, is_ordered)                      ? MW_SPREAD_ORDERED
               : reduces || n.p.has_column_sums || n.has_totals ? MW_SPREAD_ROWS
                                                                : MW_SPREAD_POINTS;
    n.width = n.spread == MW_SPREAD_ORDERED ? 1 : choose_width(&n);
    if (n.spread == MW_SPREAD_POINTS)
        spread_points(&n);
    else if (n.spread == MW_SPREAD_ROWS)
        spread_rows(&n);
    else
        spread_ordered(&n);
    place_sums(&n);
    return n;
}
