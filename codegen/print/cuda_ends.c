/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_ends.h"

#include "codegen/print/cuda_columns.h"

enum { MANY_SUMS = 64, MOST_THREADS = 1024, TURNS = 4 };

/* What blocks left of a sum, at `place`: every `stride` of `count` by one thread, from `first` on; then
 * of `threads` that share it. */
typedef struct {
    char letter;
    const char *place, *first, *stride, *condition, *threads;
    int64_t count;
} Sum;

static void print_sum(MwCudaNest *n, int i, const Sum *sum)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    const char *type = mw_print_scalar_type(instr->type), *wide = mw_cuda_exchanged_type(instr);
    mw_print_line(p, "%s w%d = %s;", wide, i, mw_print_first_value(instr));
    mw_print_line(p, "#pragma unroll %d", TURNS);
    mw_print_open(p, "for (int block = %s; block < %lld%s; block += %s)", sum->first,
                  (long long)sum->count, sum->condition, sum->stride);
    mw_print_line(p, "const %s part = %c%d[%s];", wide, sum->letter, i, sum->place);
    mw_print_line(p, mw_instr_is_max(instr) ? "w%d = mw_max(w%d, part);" : "w%d = w%d + part;", i,
                  i);
    mw_print_close(p);
    mw_print_line(p, "const %s v%d = (%s)mw_%s_%s(w%d, (%s *)shared);", type, i, type, sum->threads,
                  mw_cuda_reduction(instr), i, wide);
}

int mw_cuda_column_end_threads(const MwCudaNest *n)
{
    return n->sums > MANY_SUMS ? MOST_THREADS : MW_POINT_THREADS;
}

/* A warp has 32 columns; its lanes in all warps of the block add up one. */
void mw_cuda_print_column_end(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    MwArena *arena = p->out->arena;
    long long columns = n->columns;
    int threads = mw_cuda_column_end_threads(n);
    const Sum sum = {.letter = 'r',
                     .place = mw_arena_printf(arena, "(int64_t)block * %lld + column", columns),
                     .first = "(int)threadIdx.x / 32",
                     .stride = mw_arena_printf(arena, "%d", threads / MW_WARP),
                     .condition = mw_arena_printf(arena, " && column < %lld", columns),
                     .threads = "lanes",
                     .count = n->sums};
    mw_print_line(p, "__shared__ double shared[%d];", threads);
    mw_print_line(p, "const %s column = (%s)blockIdx.x * 32 + threadIdx.x %% 32;", n->index,
                  n->index);
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (mw_instr_reduces_rows(&p->nest->instrs.at[i]))
            print_sum(n, i, &sum);
    mw_print_line(p, "if (threadIdx.x >= 32 || column >= %lld)", columns);
    mw_print_line(p, "    return;");
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, 1);
    mw_print_level(p, MW_LEVEL_COLUMN);
}

void mw_cuda_print_total_end(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const Sum sum = {.letter = 't',
                     .place = "block",
                     .first = "(int)threadIdx.x",
                     .stride = "(int)blockDim.x",
                     .condition = "",
                     .threads = "block",
                     .count = n->blocks};
    if (n->has_totals)
        mw_print_line(p, "__shared__ double shared[%d];", MW_POINT_THREADS / MW_WARP);
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (mw_instr_reduces_all(&p->nest->instrs.at[i]))
            print_sum(n, i, &sum);
    mw_print_line(p, "if (threadIdx.x > 0)");
    mw_print_line(p, "    return;");
    mw_print_level(p, MW_LEVEL_TOTAL);
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->nest->instrs.at[i].level == MW_LEVEL_UNIFORM)
            mw_print_simple(p, i, true);
}

int mw_cuda_total_end_threads(const MwCudaNest *n)
{
    return n->has_totals ? MW_POINT_THREADS : MW_WARP;
}
