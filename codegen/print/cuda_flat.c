/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints flat kernels as CUDA C: one launch computes the elements of many sets of operands, whose
 * sizes may differ.
 *
 * The addresses, arguments and sizes of the sets are passed by value, as many sets in one launch as
 * the parameters of a kernel hold. A set is cut into chunks, and a block takes one: `first` says
 * which block of the grid is the first of each set. A reduction stores a number for each chunk, and
 * another function combines the numbers of each set. The size of such a chunk depends on the size
 * of the set alone (codegen/print/prelude_chunks.h), so that the order of a sum does too. */
#include "codegen/print/cuda_flat.h"

#include "codegen/print/cuda_columns.h"
#include "codegen/tuning.h"

/* ---- What is passed ---- */

/* Returns the number of sets that one launch takes: as many as fit among the parameters of a kernel
 * with their addresses and arguments, of 8 bytes each, with `first`, and with a few integers. */
static int sets_at_once(const MwKernelDef *kernel)
{
    int64_t bytes = 8 * (kernel->operands.count + kernel->args.count), first = sizeof(int32_t);
    return (int)((MW_CUDA_PARAMETER_BYTES - 4 * first) / (bytes + first));
}

static const char *operand_type(const MwKernelOperand *operand, MwArena *arena)
{
    return mw_arena_printf(arena, "%s%s", operand->writes ? "" : "const ",
                           mw_print_storage_type(operand->type));
}

static bool is_by_address(const MwPlanArg *arg)
{
    return arg->kind == MW_ARG_STEP;
}

static const char *arg_type(const MwPlanArg *arg)
{
    return is_by_address(arg)          ? "const int64_t *"
           : arg->kind == MW_ARG_FLOAT ? "double "
                                       : "int64_t ";
}

/* Prints the struct of one set, and the struct of the sets of a launch. */
static void print_types(MwPrinter *p, bool sums)
{
    const MwKernelDef *kernel = p->kernel;
    const int sets = sets_at_once(kernel);
    mw_print_open(p, "typedef struct");
    for (int i = 0; i < kernel->operands.count; i++)
        mw_print_line(p, "%s *p%d;", operand_type(&kernel->operands.at[i], p->out->arena), i);
    for (int i = 0; i < kernel->args.count; i++)
        mw_print_line(p, "%s%c%d;", arg_type(&kernel->args.at[i]),
                      is_by_address(&kernel->args.at[i]) ? 's' : 'a', i);
    mw_print_text(p,
                  "} @_set;\n"
                  "typedef struct {\n"
                  "    @_set at[$sets];\n"
                  "    int first[$firsts];\n"
                  "    int count$chunk;\n"
                  "} @_sets;\n",
                  MW_HOLES({"sets", mw_print_number(p, sets)},
                           {"firsts", mw_print_number(p, sets + 1)},
                           {"chunk", sums ? "" : ", chunk"}));
}

/* ---- On the GPU ---- */

static bool reduces(const MwCudaNest *n)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++)
        if (mw_instr_reduces_row(&n->p.nest->instrs.at[i]))
            return true;
    return false;
}

/* Says whether every point accesses another element of the operand, so that each chunk has its own
 * part of the operand. */
static bool is_walked(const MwNest *nest, int operand)
{
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (instr->level == MW_LEVEL_POINT && instr->operand == operand &&
            (instr->op == MW_KERNEL_LOAD || instr->op == MW_KERNEL_STORE))
            return true;
    }
    return false;
}

/* Prints the binary search for the set that the block belongs to: the last set whose first block is
 * this block or an earlier one. */
static void print_set_of_block(MwPrinter *p)
{
    int step = 1;
    while (2 * step < sets_at_once(p->kernel))
        step *= 2;
    mw_print_text(p,
                  "int set = 0;\n"
                  "for (int step = $step; step; step /= 2)\n"
                  "    if (set + step < sets.count && sets.first[set + step] <= (int)blockIdx.x)\n"
                  "        set += step;\n",
                  MW_HOLES({"step", mw_print_number(p, step)}));
}

static void print_args(MwPrinter *p)
{
    for (int i = 0; i < p->kernel->args.count; i++) {
        const MwPlanArg *arg = &p->kernel->args.at[i];
        if (is_by_address(arg))
            mw_print_line(p, "const int64_t a%d = *sets.at[set].s%d;", i, i);
        else
            mw_print_line(p, "const %sa%d = sets.at[set].a%d;", arg_type(arg), i, i);
    }
}

/* Prints the pointers to the operands of the set. `offset` (" + begin", or "") is added to those
 * that points walk along. */
static void print_operands(MwPrinter *p, const char *offset)
{
    for (int i = 0; i < p->kernel->operands.count; i++)
        mw_print_line(p, "%s *__restrict__ p%d = sets.at[set].p%d%s;",
                      operand_type(&p->kernel->operands.at[i], p->out->arena), i, i,
                      is_walked(p->nest, i) ? offset : "");
}

/* Prints a pointer for each reduction to the array in which every chunk stores its part. */
static void print_chunk_arrays(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_row(instr))
            continue;
        const char *type = mw_cuda_exchanged_type(instr);
        mw_print_line(p, "%s *const t%d = (%s *)(p%d + %lld);", type, i, type,
                      p->kernel->operands.count - 1, (long long)n->sums_at[i]);
    }
}

/* Who computes a value that is the same for all points. */
typedef enum {
    EVERY_THREAD,
    ONE_THREAD, /* the value is costly, and uses no shared one: one thread computes and shares it */
    FROM_SHARED /* every thread computes it, from shared values */
} Computer;

static bool is_uniform(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_UNIFORM && !mw_instr_reduces_row(instr);
}

static Computer *find_computers(const MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    Computer *computers = MW_NEW(n->p.out->arena, Computer, nest->instrs.count);
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        bool uses_shared = false;
        for (int k = 0; k < instr->input_count; k++)
            uses_shared |= computers[instr->inputs[k].index] != EVERY_THREAD;
        bool is_costly = is_uniform(instr) && instr->op == MW_KERNEL_EXPR &&
                         instr->flops >= MW_TUNED_CUDA_COSTLY_FLOPS;
        computers[i] = uses_shared ? FROM_SHARED : is_costly ? ONE_THREAD : EVERY_THREAD;
    }
    return computers;
}

/* Prints the values that are the same for all points. Each costly value is computed by the first
 * thread of another warp, so that they are computed at the same time. */
static void print_uniform(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwNest *nest = p->nest;
    const Computer *computers = find_computers(n);
    int shared = 0;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (is_uniform(instr) && computers[i] == EVERY_THREAD)
            mw_print_value(p, i);
        if (computers[i] != ONE_THREAD)
            continue;
        mw_print_line(p, "__shared__ %s shared%d;", mw_print_scalar_type(instr->type), i);
        mw_print_open(p, "if (threadIdx.x == %d)",
                      shared++ * MW_WARP % MW_TUNED_CUDA_POINT_THREADS);
        mw_print_value(p, i);
        mw_print_line(p, "shared%d = v%d;", i, i);
        mw_print_close(p);
    }
    if (shared)
        mw_print_line(p, "__syncthreads();");
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (computers[i] == ONE_THREAD)
            mw_print_line(p, "const %s v%d = shared%d;", mw_print_scalar_type(instr->type), i, i);
        else if (is_uniform(instr) && computers[i] == FROM_SHARED)
            mw_print_value(p, i);
    }
}

/* Opens the block of one turn, and prints the index of the first neighbour that it takes. */
static void begin_turn(MwCudaNest *n)
{
    mw_cuda_print(n,
                  "const int part = at + turn * $threads;\n"
                  "if (part < parts) {\n"
                  "    const int j = part * $width;\n",
                  NULL, 0);
}

/* Prints the loops over the elements of the chunk: one over groups of neighbours, and one over the
 * elements that are left at the end of a set. */
static void print_elements(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const bool *is_wide = p->is_wide;
    const int width = n->width;
    mw_cuda_print(n,
                  "const int parts = size / $width;\n"
                  "for (int at = (int)threadIdx.x; at < parts; at += $stride) {\n",
                  MW_HOLES({"stride", mw_print_number(p, n->threads * n->turns)}));
    if (n->turns > 1) {
        mw_cuda_print_turns(n, 0, begin_turn, mw_cuda_print_phase_points);
    } else {
        mw_print_line(p, "const int j = at * %d;", width);
        mw_cuda_print_columns_at(n, 0, mw_cuda_print_phase_points);
    }
    mw_print_close(p);
    mw_cuda_print(n,
                  "for (int i0 = parts * $width + (int)threadIdx.x; i0 < size; i0 += $threads) {\n",
                  NULL, 0);
    n->width = 1;
    p->is_wide = NULL;
    mw_cuda_print_columns_at(n, 0, mw_cuda_print_phase_points);
    n->width = width;
    p->is_wide = is_wide;
    mw_print_close(p);
}

/* Declares the variables in which each thread gathers its part of a reduction. */
static void print_reductions_begin(MwCudaNest *n)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (mw_instr_reduces_row(instr))
            mw_print_line(&n->p, "%s l%d = %s;", mw_cuda_exchanged_type(instr), i,
                          mw_print_first_value(instr));
    }
}

/* Combines the parts of the threads of a block, and stores the result for its chunk. */
static void print_reductions_end(MwCudaNest *n)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (mw_instr_reduces_row(instr))
            mw_cuda_print(n,
                          "l$i = mw_block_$how(l$i, ($type *)shared);\n"
                          "if (threadIdx.x == 0)\n"
                          "    t$i[blockIdx.x - sets.first[set]] = l$i;\n",
                          MW_HOLES({"i", mw_print_number(&n->p, i)},
                                   {"how", mw_cuda_reduction(n, instr)},
                                   {"type", mw_cuda_exchanged_type(instr)}));
    }
}

static const char *block_warps(const MwCudaNest *n)
{
    return mw_print_number(&n->p, MW_TUNED_CUDA_POINT_THREADS / MW_WARP);
}

/* Prints the function that computes the points; a block takes a chunk. */
static void print_points_function(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const char *points = mw_print_size(p, 0);
    const MwHole holes[] = {
        {"warps", block_warps(n)},
        {"points", points},
        {"chunk",
         reduces(n) ? mw_arena_printf(p->out->arena, "mw_sum_chunk(%s)", points) : "sets.chunk"}};
    mw_cuda_print(n,
                  "static __global__ void __launch_bounds__($threads) @_0(const @_sets sets)\n"
                  "{\n",
                  NULL, 0);
    if (reduces(n))
        mw_cuda_print(n, "__shared__ double shared[$warps];\n", holes, MW_COUNT(holes));
    print_set_of_block(p);
    print_args(p);
    mw_cuda_print(n,
                  "const int64_t chunk = $chunk;\n"
                  "const int64_t begin = ((int)blockIdx.x - sets.first[set]) * chunk;\n"
                  "const int size = (int)mw_min($points - begin, chunk);\n",
                  holes, MW_COUNT(holes));
    print_operands(p, " + begin");
    print_chunk_arrays(n);
    print_uniform(n);
    print_reductions_begin(n);
    print_elements(n);
    print_reductions_end(n);
    mw_print_close(p);
}

/* Combines what the chunks of the set stored, for each reduction. */
static void print_chunk_sums(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_row(instr))
            continue;
        const char *sum = mw_arena_printf(p->out->arena, "w%d", i);
        const char *part = mw_arena_printf(p->out->arena, "t%d[at]", i);
        mw_cuda_print(n,
                      "$wide $sum = $first;\n"
                      "for (int at = (int)threadIdx.x; at < chunks; at += $threads)\n"
                      "    $sum = $joined;\n"
                      "const $type v$i = ($type)mw_block_$how($sum, ($wide *)shared);\n",
                      MW_HOLES({"wide", mw_cuda_exchanged_type(instr)}, {"sum", sum},
                               {"first", mw_print_first_value(instr)},
                               {"joined", mw_cuda_joined(n, instr, sum, part)},
                               {"type", mw_print_scalar_type(instr->type)},
                               {"i", mw_print_number(p, i)}, {"how", mw_cuda_reduction(n, instr)}));
    }
}

/* Prints the function that combines the chunks; a block takes a set. */
static void print_end_function(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_cuda_print(n,
                  "static __global__ void __launch_bounds__($threads) @_0_end(const @_sets sets)\n"
                  "{\n"
                  "    __shared__ double shared[$warps];\n"
                  "    const int set = (int)blockIdx.x;\n"
                  "    const int chunks = sets.first[set + 1] - sets.first[set];\n",
                  MW_HOLES({"warps", block_warps(n)}));
    print_args(p);
    print_operands(p, "");
    print_chunk_arrays(n);
    print_chunk_sums(n);
    mw_cuda_print(n,
                  "if (threadIdx.x > 0)\n"
                  "    return;\n",
                  NULL, 0);
    mw_print_level(p, MW_LEVEL_UNIFORM);
    mw_print_level(p, MW_LEVEL_ROW);
    mw_print_close(p);
}

/* ---- On the host ---- */

/* Fills in the operands and arguments of set `s` of a launch. */
static void print_set(MwPrinter *p)
{
    const MwKernelDef *kernel = p->kernel;
    mw_print_line(p, "@_set *const set = &some.at[s];");
    for (int i = 0; i < kernel->operands.count; i++)
        mw_print_line(p, "set->p%d = (%s *)operands[(from + s) * %d + %d];", i,
                      operand_type(&kernel->operands.at[i], p->out->arena), kernel->operands.count,
                      i);
    for (int i = 0; i < kernel->args.count; i++) {
        bool by_address = is_by_address(&kernel->args.at[i]);
        mw_print_line(p, "set->%c%d = args[(from + s) * %d + %d].%s;", by_address ? 's' : 'a', i,
                      kernel->args.count, i,
                      by_address                                ? "at"
                      : kernel->args.at[i].kind == MW_ARG_FLOAT ? "f"
                                                                : "i");
    }
}

/* Fills in the sets of one launch, the first of which is set `from`, and the first block of
 * each. */
static void print_sets(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const bool sums = reduces(n);
    const int least = n->threads * n->width;
    const int most = (int)mw_max(least * n->turns, n->threads * MW_TUNED_CUDA_THREAD_ELEMENTS);
    const MwHole holes[] = {{"sets", mw_print_number(p, sets_at_once(p->kernel))},
                            {"points", mw_print_size(p, 0)},
                            {"least", mw_print_number(p, least)},
                            {"most", mw_print_number(p, most)},
                            {"chunk", sums ? "mw_sum_chunk(size)" : "some.chunk"}};
    mw_cuda_print(n,
                  "@_sets some;\n"
                  "some.count = mw_min(sets - from, $sets);\n",
                  holes, MW_COUNT(holes));
    if (!sums)
        mw_print_line(p, "int64_t points = 0;");
    mw_print_open(p, "for (int s = 0; s < some.count; s++)");
    print_set(p);
    if (!sums)
        mw_cuda_print(n, "points += set->$points;\n", holes, MW_COUNT(holes));
    mw_print_close(p);
    if (!sums)
        mw_cuda_print(n, "some.chunk = mw_point_chunk(points, $least, $most);\n", holes,
                      MW_COUNT(holes));
    mw_cuda_print(n,
                  "some.first[0] = 0;\n"
                  "for (int s = 0; s < some.count; s++) {\n"
                  "    const int64_t size = some.at[s].$points;\n"
                  "    const int64_t chunk = $chunk;\n"
                  "    some.first[s + 1] = some.first[s] + (int)((size + chunk - 1) / chunk);\n"
                  "}\n",
                  holes, MW_COUNT(holes));
}

static void print_launches(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_open(p, "for (int from = 0; from < sets; from += %d)", sets_at_once(p->kernel));
    print_sets(n);
    mw_cuda_print(n, "MW_LAUNCH(@_0, some.first[some.count], $threads, stream, (some));\n", NULL,
                  0);
    if (reduces(n))
        mw_cuda_print(n, "MW_LAUNCH(@_0_end, some.count, $threads, stream, (some));\n", NULL, 0);
    mw_print_close(p);
}

void mw_cuda_print_flat(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    p->indent = 0;
    print_types(p, reduces(n));
    print_points_function(n);
    if (reduces(n))
        print_end_function(n);
    mw_cuda_print(n,
                  "static void @(void *const *operands, const MwKernelArg *args, int sets, void "
                  "*stream)\n"
                  "{\n",
                  NULL, 0);
    print_launches(n);
    mw_print_close(p);
}
