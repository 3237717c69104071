/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over rows (cuda_nest.h): by blocks that take some columns of some rows, and of what such
 * blocks, or those that take whole rows, leave of them. */
#include "codegen/print/cuda_sums.h"

#include "codegen/print/cuda_columns.h"

enum { TURNS = 4 };

/* ---- Some columns of some rows ---- */

static void print_sums_begin(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_rows(instr))
            continue;
        mw_print_line(p, "%s c%d[%d];", mw_print_scalar_type(instr->type), i, n->width);
        mw_print_line(p, "#pragma unroll");
        mw_print_line(p, "for (int q = 0; q < %d; q++)", n->width);
        mw_print_line(p, "    c%d[q] = %s;", i, mw_print_first_value(instr));
    }
}

/* The indices of row `row` and the values of its level. */
static void print_row_begin(MwCudaNest *n)
{
    mw_cuda_print_indices(n, "row", 0, n->p.nest->space.row_dims, 1);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
}

static int rows_at_once(const MwCudaNest *n)
{
    return n->threads / n->group;
}

static void begin_turn(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_line(p, "const %s row = at + turn * %d;", n->index, rows_at_once(n));
    if (n->rows % n->block_rows)
        mw_print_open(p, "if (row < end)");
    else
        mw_print_open_scope(p);
    print_row_begin(n);
}

/* The rows of a thread. */
static void print_rows(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    const char *at = n->turns > 1 ? "at" : "row";
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, n->width);
    if (n->turns == 1)
        mw_print_line(p, "#pragma unroll %d", TURNS);
    mw_print_open(p, "for (%s %s = begin + slot; %s < end; %s += %d)", n->index, at, at, at,
                  rows_at_once(n) * n->turns);
    if (n->turns > 1) {
        mw_cuda_print_turns(n, 0, begin_turn, mw_cuda_print_phase_points);
    } else {
        print_row_begin(n);
        mw_cuda_print_columns_at(n, 0, mw_cuda_print_phase_points);
    }
    mw_print_close(p);
}

/* Adds up what the slots have of reduction i, each column by one thread: so that no two lanes meet in a
 * bank when they write and when they read, the columns that are the same one of their neighbours lie a
 * few places further apart than there are threads. */
static void print_fold_slots(MwCudaNest *n, int i)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    const char *type = mw_print_scalar_type(instr->type);
    int pitch = n->threads + MW_WARP / n->width;
    mw_print_line(p, "__syncthreads();");
    mw_print_line(p, "#pragma unroll");
    mw_print_line(p, "for (int q = 0; q < %d; q++)", n->width);
    mw_print_line(p, "    ((%s *)folded)[q * %d + threadIdx.x] = c%d[q];", type, pitch, i);
    mw_print_line(p, "__syncthreads();");
    mw_print_line(p, "%s w%d = %s;", type, i, mw_print_first_value(instr));
    mw_print_open(p, "for (int other = 0; other < %d; other++)", rows_at_once(n));
    mw_print_line(p, "const %s part = ((%s *)folded)[place + other * %d];", type, type, n->group);
    mw_print_line(p, mw_instr_is_max(instr) ? "w%d = mw_max(w%d, part);" : "w%d = w%d + part;", i,
                  i);
    mw_print_close(p);
}

/* The sums of the block, each column by one thread. */
static void print_block_sums(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int count = n->group * n->width, pitch = n->threads + MW_WARP / n->width;
    mw_print_line(p, "const int own = (int)threadIdx.x %% %d;", count);
    mw_print_line(p, "const int place = own %% %d * %d + own / %d;", n->width, pitch, n->width);
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (mw_instr_reduces_rows(&p->nest->instrs.at[i]))
            print_fold_slots(n, i);
    mw_print_line(p, "const %s sum = first * %d + own;", n->index, n->width);
    mw_print_line(p, "if ((int)threadIdx.x >= %d || sum >= %lld)", count, (long long)n->columns);
    mw_print_line(p, "    return;");
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        const char *type = mw_print_scalar_type(instr->type);
        if (!mw_instr_reduces_rows(instr))
            continue;
        if (mw_cuda_sums_at_once(n))
            mw_print_line(p, "const %s v%d = w%d;", type, i, i);
        else
            mw_print_line(p, "r%d[(int64_t)part * %lld + sum] = w%d;", i, (long long)n->columns, i);
    }
}

void mw_cuda_print_columns(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    long long units = n->columns / n->width, tiles = mw_ceil_div(units, n->group);
    mw_print_line(p, "__shared__ int32_t folded[%d];",
                  n->width * (n->threads + MW_WARP / n->width));
    mw_print_line(p, "const int lane = (int)threadIdx.x %% %d, slot = (int)threadIdx.x / %d;",
                  n->group, n->group);
    mw_print_line(p, "const int part = (int)(blockIdx.x / %lld);", tiles);
    mw_print_line(p, "const %s first = (%s)(blockIdx.x %% %lld) * %d, column = first + lane;",
                  n->index, n->index, tiles, n->group);
    mw_print_line(p, "const %s begin = (%s)part * %lld, end = mw_min(begin + %lld, (%s)%lld);",
                  n->index, n->index, (long long)n->block_rows, (long long)n->block_rows, n->index,
                  (long long)n->rows);
    print_sums_begin(n);
    if (units % n->group)
        mw_print_open(p, "if (column < %lld)", units);
    else
        mw_print_open_scope(p);
    print_rows(n);
    mw_print_close(p);
    print_block_sums(n);
    if (!mw_cuda_sums_at_once(n))
        return;
    mw_cuda_print_indices(n, "sum", space->row_dims, space->dim_count, 1);
    mw_print_level(p, MW_LEVEL_COLUMN);
}
