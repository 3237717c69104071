/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_ends.h"

#include "codegen/print/cuda_columns.h"
#include "codegen/tuning.h"

/* Describes how the threads of a function add up the parts of a sum that blocks stored: each thread
 * adds every `stride`-th of `count` parts, from `first` on; then the threads that share the sum
 * combine theirs. */
typedef struct {
    const char *parts; /* letter of the array that holds the parts: "r", "t" */
    const char *place; /* index of the part of `block` there */
    const char *first, *stride;
    const char *condition; /* under which the thread has a sum, after " && "; or "" */
    const char *shared_by; /* the threads that share a sum: "lanes", "block" */
    int64_t count;
} Sum;

static void print_sum(MwCudaNest *n, int i, const Sum *sum)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    const char *gathered = mw_arena_printf(p->out->arena, "w%d", i);
    mw_cuda_print(
        n,
        "$wide $sum = $zero;\n"
        "#pragma unroll $unroll\n"
        "for (int block = $first; block < $count$condition; block += $stride) {\n"
        "    const $wide part = $parts$i[$place];\n"
        "    $sum = $joined;\n"
        "}\n"
        "const $type v$i = ($type)mw_${shared_by}_$how($sum, ($wide *)shared);\n",
        MW_HOLES({"wide", mw_cuda_exchanged_type(instr)}, {"sum", gathered},
                 {"zero", mw_print_first_value(instr)},
                 {"unroll", mw_print_number(p, MW_TUNED_CUDA_UNROLL)}, {"first", sum->first},
                 {"count", mw_print_number(p, sum->count)}, {"condition", sum->condition},
                 {"stride", sum->stride}, {"parts", sum->parts}, {"i", mw_print_number(p, i)},
                 {"place", sum->place}, {"joined", mw_cuda_joined(n, instr, gathered, "part")},
                 {"type", mw_print_scalar_type(instr->type)}, {"shared_by", sum->shared_by},
                 {"how", mw_cuda_reduction(n, instr)}));
}

/* ---- Sums over rows ---- */

int mw_cuda_column_end_threads(const MwCudaNest *n)
{
    return n->sums > MW_TUNED_CUDA_MANY_SUMS ? MW_CUDA_BLOCK_THREADS : MW_TUNED_CUDA_POINT_THREADS;
}

/* Prints the sums over rows and the code that uses them. A block takes 32 columns; the threads with
 * the same lane in their warps share a column. */
void mw_cuda_print_column_end(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    MwArena *arena = p->out->arena;
    const MwSpace *space = &p->nest->space;
    const long long columns = n->columns;
    const int threads = mw_cuda_column_end_threads(n);
    const Sum sum = {.parts = "r",
                     .place = mw_arena_printf(arena, "(int64_t)block * %lld + column", columns),
                     .first = "(int)threadIdx.x / 32",
                     .stride = mw_print_number(p, threads / MW_WARP),
                     .condition = mw_arena_printf(arena, " && column < %lld", columns),
                     .shared_by = "lanes",
                     .count = n->sums};
    mw_cuda_print(n,
                  "__shared__ double shared[$shared];\n"
                  "const $index column = ($index)blockIdx.x * 32 + threadIdx.x % 32;\n",
                  MW_HOLES({"shared", mw_print_number(p, threads)}));
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (mw_instr_reduces_rows(&p->nest->instrs.at[i]))
            print_sum(n, i, &sum);
    mw_cuda_print(n,
                  "if (threadIdx.x >= 32 || column >= $columns)\n"
                  "    return;\n",
                  NULL, 0);
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, 1);
    mw_print_level(p, MW_LEVEL_COLUMN);
}

/* ---- Sums over all points ---- */

int mw_cuda_total_end_threads(const MwCudaNest *n)
{
    return n->has_totals ? MW_TUNED_CUDA_POINT_THREADS : MW_WARP;
}

/* Prints the sums over all points and the code that uses them, which one block runs. */
void mw_cuda_print_total_end(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const Sum sum = {.parts = "t",
                     .place = "block",
                     .first = "(int)threadIdx.x",
                     .stride = "(int)blockDim.x",
                     .condition = "",
                     .shared_by = "block",
                     .count = n->blocks};
    if (n->has_totals)
        mw_print_line(p, "__shared__ double shared[%d];", MW_TUNED_CUDA_POINT_THREADS / MW_WARP);
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (mw_instr_reduces_all(&p->nest->instrs.at[i]))
            print_sum(n, i, &sum);
    mw_cuda_print(n,
                  "if (threadIdx.x > 0)\n"
                  "    return;\n",
                  NULL, 0);
    mw_print_level(p, MW_LEVEL_TOTAL);
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->nest->instrs.at[i].level == MW_LEVEL_UNIFORM)
            mw_print_simple(p, i, true);
}
