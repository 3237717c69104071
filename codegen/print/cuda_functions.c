/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_functions.h"

#include "codegen/print/cuda_columns.h"
#include "codegen/print/cuda_ends.h"
#include "codegen/print/cuda_places.h"
#include "codegen/print/cuda_rows.h"
#include "codegen/print/cuda_signature.h"
#include "codegen/print/cuda_sums.h"
#include "codegen/print/cuda_tiles.h"

/* ---- Points ---- */

/* Values of UNIFORM code. */
static void print_uniform(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->nest->instrs.at[i].level == MW_LEVEL_UNIFORM &&
            !mw_instr_is_reduction(&p->nest->instrs.at[i]))
            mw_print_simple(p, i, false);
}

static void begin_turn(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int64_t units = n->rows * mw_cuda_units(n);
    mw_cuda_print(n, "const $index point = at + turn * $threads;\n", NULL, 0);
    if (units % (n->threads * n->turns))
        mw_print_open(p, "if (point < %lld)", (long long)units);
    else
        mw_print_open_scope(p);
    mw_cuda_print_indices(n, "point", 0, p->nest->space.dim_count, n->width);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
}

static void print_points(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_cuda_print(n,
                  "const $index first = ($index)blockIdx.x * $block + threadIdx.x;\n"
                  "for ($index at = first; at < $units; at += gridDim.x * $block) {\n",
                  MW_HOLES({"block", mw_print_number(p, n->threads * n->turns)},
                           {"units", mw_print_number(p, n->rows * mw_cuda_units(n))}));
    if (n->turns > 1) {
        mw_cuda_print_turns(n, -1, begin_turn, mw_cuda_print_point);
    } else {
        mw_cuda_print_indices(n, "at", 0, p->nest->space.dim_count, n->width);
        mw_cuda_print_values(n, MW_LEVEL_ROW);
        mw_cuda_print_columns_at(n, -1, mw_cuda_print_point);
    }
    mw_print_close(p);
}

/* ---- Functions ---- */

/* Prints a pointer for each sum to the array in which blocks store their parts: the parts of sums
 * over rows have the type of the elements, those of sums over all points the type that threads
 * exchange. */
static void print_part_arrays(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        bool of_rows = mw_instr_reduces_rows(instr);
        if (of_rows ? mw_cuda_sums_at_once(n) : !mw_instr_reduces_all(instr))
            continue;
        const char *type =
            of_rows ? mw_print_scalar_type(instr->type) : mw_cuda_exchanged_type(instr);
        mw_print_line(p, "%s *const %c%d = (%s *)(p%d + %lld);", type, of_rows ? 'r' : 't', i, type,
                      p->kernel->operands.count - 1, (long long)n->sums_at[i]);
    }
}

/* Prints a function, whose body `print` prints. With the launch bound the compiler takes no more
 * registers than so many threads can have; without it a GPU may refuse a block of many threads. */
static void print_function(MwCudaNest *n, const char *what, int threads,
                           void (*print)(MwCudaNest *n))
{
    MwPrinter *p = &n->p;
    mw_text_printf(p->out, "static __global__ void __launch_bounds__(%d) @_%d%s%s\n{\n", threads,
                   n->nest, what, mw_cuda_parameters(p->out->arena, p->kernel));
    mw_cuda_print_loaded_args(p->out, p->kernel);
    print_uniform(n);
    print_part_arrays(n);
    print(n);
    mw_text_add(p->out, "}\n");
}

/* Says whether the nest has code for its end alone: none for rows, points or columns. */
static bool is_only_end(const MwCudaNest *n)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++)
        if (n->p.nest->instrs.at[i].level == MW_LEVEL_ROW ||
            n->p.nest->instrs.at[i].level == MW_LEVEL_POINT ||
            n->p.nest->instrs.at[i].level == MW_LEVEL_COLUMN)
            return false;
    return true;
}

static bool has_column_end(const MwCudaNest *n)
{
    return n->p.has_column_sums && !mw_cuda_sums_at_once(n);
}

void mw_cuda_print_nest(MwCudaNest *n)
{
    static void (*const print[])(MwCudaNest * n) = {[MW_SPREAD_POINTS] = print_points,
                                                    [MW_SPREAD_TILES] = mw_cuda_print_tiles,
                                                    [MW_SPREAD_ROWS] = mw_cuda_print_rows,
                                                    [MW_SPREAD_COLUMNS] = mw_cuda_print_columns,
                                                    [MW_SPREAD_PLACES] = mw_cuda_print_places};
    if (!is_only_end(n))
        print_function(n, "", n->threads, print[n->spread]);
    if (has_column_end(n))
        print_function(n, "_columns", mw_cuda_column_end_threads(n), mw_cuda_print_column_end);
    if (n->has_end)
        print_function(n, "_end", mw_cuda_total_end_threads(n), mw_cuda_print_total_end);
}

void mw_cuda_print_launches(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const char *arguments = mw_cuda_arguments(p->out->arena, p->kernel);
    if (!is_only_end(n))
        mw_print_line(p, "MW_LAUNCH(@_%d, %lld, %d, stream, %s);", n->nest, (long long)n->blocks,
                      n->threads, arguments);
    if (has_column_end(n))
        mw_print_line(p, "MW_LAUNCH(@_%d_columns, %lld, %d, stream, %s);", n->nest,
                      (long long)mw_ceil_div(n->columns, MW_WARP), mw_cuda_column_end_threads(n),
                      arguments);
    if (n->has_end)
        mw_print_line(p, "MW_LAUNCH(@_%d_end, 1, %d, stream, %s);", n->nest,
                      mw_cuda_total_end_threads(n), arguments);
}
