/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The function of a nest that sums over rows and does nothing once per row: a block takes `group`
 * neighbouring units of columns of `block_rows` rows. Its threads form slots of `group` threads. A
 * slot takes every slots-th row, and at the end the sums of the slots are added up. */
#include "codegen/print/cuda_sums.h"

#include "codegen/print/cuda_columns.h"
#include "codegen/tuning.h"

static int slots(const MwCudaNest *n)
{
    return n->threads / n->group;
}

/* Returns the distance, in words of shared memory, between the values of neighbouring columns of a
 * thread: a few more than there are threads, so that no two lanes use one bank, neither when
 * threads write their columns nor when others read them. */
static int fold_pitch(const MwCudaNest *n)
{
    return n->threads + MW_WARP / n->width;
}

static void print_sums_begin(MwCudaNest *n)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (mw_instr_reduces_rows(instr))
            mw_cuda_print(n,
                          "$type c$i[$width];\n"
                          "#pragma unroll\n"
                          "for (int q = 0; q < $width; q++)\n"
                          "    c$i[q] = $first;\n",
                          MW_HOLES({"type", mw_print_scalar_type(instr->type)},
                                   {"i", mw_print_number(&n->p, i)},
                                   {"first", mw_print_first_value(instr)}));
    }
}

/* Prints the indices of row `row` and the values that are computed once per row. */
static void print_row_begin(MwCudaNest *n)
{
    mw_cuda_print_indices(n, "row", 0, n->p.nest->space.row_dims, 1);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
}

static void begin_turn(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_line(p, "const %s row = at + turn * %d;", n->index, slots(n));
    if (n->rows % n->block_rows)
        mw_print_open(p, "if (row < end)");
    else
        mw_print_open_scope(p);
    print_row_begin(n);
}

/* Prints the loop over the rows of a thread. */
static void print_rows(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, n->width);
    if (n->turns == 1)
        mw_print_line(p, "#pragma unroll %d", MW_TUNED_CUDA_UNROLL);
    mw_cuda_print(n, "for ($index $at = begin + slot; $at < end; $at += $stride) {\n",
                  MW_HOLES({"at", n->turns > 1 ? "at" : "row"},
                           {"stride", mw_print_number(p, slots(n) * n->turns)}));
    if (n->turns > 1) {
        mw_cuda_print_turns(n, 0, begin_turn, mw_cuda_print_phase_points);
    } else {
        print_row_begin(n);
        mw_cuda_print_columns_at(n, 0, mw_cuda_print_phase_points);
    }
    mw_print_close(p);
}

/* Adds up the sums of the slots for reduction i; one thread does so for each column. */
static void print_fold_slots(MwCudaNest *n, int i)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    const char *sum = mw_arena_printf(p->out->arena, "w%d", i);
    mw_cuda_print(n,
                  "__syncthreads();\n"
                  "#pragma unroll\n"
                  "for (int q = 0; q < $width; q++)\n"
                  "    (($type *)folded)[q * $pitch + threadIdx.x] = c$i[q];\n"
                  "__syncthreads();\n"
                  "$type $sum = $first;\n"
                  "for (int other = 0; other < $slots; other++) {\n"
                  "    const $type part = (($type *)folded)[place + other * $group];\n"
                  "    $sum = $joined;\n"
                  "}\n",
                  MW_HOLES({"type", mw_print_scalar_type(instr->type)},
                           {"pitch", mw_print_number(p, fold_pitch(n))},
                           {"i", mw_print_number(p, i)}, {"sum", sum},
                           {"first", mw_print_first_value(instr)},
                           {"slots", mw_print_number(p, slots(n))},
                           {"joined", mw_cuda_joined(n, instr, sum, "part")}));
}

/* Prints the sums of the block; one thread takes a column. Whole sums become values, parts of sums
 * are stored in the scratch memory. */
static void print_block_sums(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwHole holes[] = {{"count", mw_print_number(p, n->group * n->width)},
                            {"pitch", mw_print_number(p, fold_pitch(n))}};
    mw_cuda_print(n,
                  "const int own = (int)threadIdx.x % $count;\n"
                  "const int place = own % $width * $pitch + own / $width;\n",
                  holes, MW_COUNT(holes));
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (mw_instr_reduces_rows(&p->nest->instrs.at[i]))
            print_fold_slots(n, i);
    mw_cuda_print(n,
                  "const $index sum = first * $width + own;\n"
                  "if ((int)threadIdx.x >= $count || sum >= $columns)\n"
                  "    return;\n",
                  holes, MW_COUNT(holes));
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_rows(instr))
            continue;
        if (mw_cuda_sums_at_once(n))
            mw_print_line(p, "const %s v%d = w%d;", mw_print_scalar_type(instr->type), i, i);
        else
            mw_print_line(p, "r%d[(int64_t)part * %lld + sum] = w%d;", i, (long long)n->columns, i);
    }
}

void mw_cuda_print_columns(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    const int64_t units = mw_cuda_units(n);
    mw_cuda_print(n,
                  "__shared__ $folded_type folded[$folded];\n"
                  "const int lane = (int)threadIdx.x % $group, slot = (int)threadIdx.x / $group;\n"
                  "const int part = (int)(blockIdx.x / $tiles);\n"
                  "const $index first = ($index)(blockIdx.x % $tiles) * $group, column = first + "
                  "lane;\n"
                  "const $index begin = ($index)part * $block_rows, end = mw_min(begin + "
                  "$block_rows, ($index)$rows);\n",
                  MW_HOLES({"folded_type", mw_cuda_folded_type(n)},
                           {"folded", mw_print_number(p, n->width * fold_pitch(n))},
                           {"tiles", mw_print_number(p, mw_ceil_div(units, n->group))},
                           {"block_rows", mw_print_number(p, n->block_rows)}));
    print_sums_begin(n);
    if (units % n->group)
        mw_print_open(p, "if (column < %lld)", (long long)units);
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
