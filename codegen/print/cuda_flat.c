/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flat kernels (codegen/kernel/kernel.h) as CUDA C: one launch for the elements of many sets, however unequal.
 *
 * The addresses, arguments and sizes of the sets are passed by value, as many sets at a time as fit
 * into the 4096 bytes that every version of CUDA passes to a kernel. A set is cut into chunks, and a
 * block takes one: `first` says which of the blocks of the grid is the first of each set. Sums leave a
 * number for each chunk, and another function adds up those of a set; so that their order depends on
 * the size alone, chunks of sums depend on nothing else. */
#include "codegen/print/cuda_flat.h"

#include "codegen/print/cuda_columns.h"

enum {
    PASSED_BYTES = 4096,
    MOST_POINTS = 4096, /* that a block takes, unless its threads have more in flight */
    COSTLY_FLOPS =
        16, /* of a value that all threads share, from which on one computes it for all */
};

/* ---- What is passed ---- */

static int sets_at_once(const MwKernelDef *kernel)
{
    int64_t bytes = 8 * (kernel->operands.count + kernel->args.count), first = sizeof(int32_t);
    return (int)((PASSED_BYTES - 4 * first) / (bytes + first));
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

static void print_types(MwPrinter *p, bool sums)
{
    const MwKernelDef *kernel = p->kernel;
    int sets = sets_at_once(kernel);
    mw_print_open(p, "typedef struct");
    for (int i = 0; i < kernel->operands.count; i++)
        mw_print_line(p, "%s *p%d;", operand_type(&kernel->operands.at[i], p->out->arena), i);
    for (int i = 0; i < kernel->args.count; i++)
        mw_print_line(p, "%s%c%d;", arg_type(&kernel->args.at[i]),
                      is_by_address(&kernel->args.at[i]) ? 's' : 'a', i);
    p->indent--;
    mw_print_line(p, "} @_set;");
    mw_print_open(p, "typedef struct");
    mw_print_line(p, "@_set at[%d];", sets);
    mw_print_line(p, "int first[%d];", sets + 1);
    mw_print_line(p, "int count%s;", sums ? "" : ", chunk");
    p->indent--;
    mw_print_line(p, "} @_sets;");
}

/* ---- On the GPU ---- */

static bool reduces(const MwCudaNest *n)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++)
        if (mw_instr_reduces_row(&n->p.nest->instrs.at[i]))
            return true;
    return false;
}

/* Whether points walk along an operand, so that a chunk has its own part of it. */
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

/* The set that the block belongs to: the last that begins at or before it. */
static void print_set_of_block(MwPrinter *p)
{
    int step = 1;
    while (2 * step < sets_at_once(p->kernel))
        step *= 2;
    mw_print_line(p, "int set = 0;");
    mw_print_line(p, "for (int step = %d; step; step /= 2)", step);
    mw_print_line(p,
                  "    if (set + step < sets.count && sets.first[set + step] <= (int)blockIdx.x)");
    mw_print_line(p, "        set += step;");
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

/* Operands of the set; those that are walked from `begin` on. */
static void print_operands(MwPrinter *p, const char *begin)
{
    for (int i = 0; i < p->kernel->operands.count; i++)
        mw_print_line(p, "%s *__restrict__ p%d = sets.at[set].p%d%s;",
                      operand_type(&p->kernel->operands.at[i], p->out->arena), i, i,
                      is_walked(p->nest, i) ? begin : "");
}

/* Where chunks leave what they sum. */
static void print_sum_places(MwCudaNest *n)
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

typedef enum { CHEAP, COSTLY, AFTER /* those that are costly */ } Cost;

static bool is_uniform(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_UNIFORM && !mw_instr_reduces_row(instr);
}

/* Values that are the same for all points. The costly ones that need no others are computed by a warp
 * each, and shared. */
static void print_uniform(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwNest *nest = p->nest;
    Cost *kind = MW_NEW(p->out->arena, Cost, nest->instrs.count);
    int shared = 0;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        bool waits = false;
        for (int k = 0; k < instr->input_count; k++)
            waits |= kind[instr->inputs[k].index] != CHEAP;
        bool costs = instr->op == MW_KERNEL_EXPR && instr->flops >= COSTLY_FLOPS;
        kind[i] = waits ? AFTER : is_uniform(instr) && costs ? COSTLY : CHEAP;
        if (is_uniform(instr) && kind[i] == CHEAP)
            mw_print_value(p, i);
        if (kind[i] != COSTLY)
            continue;
        mw_print_line(p, "__shared__ %s shared%d;", mw_print_scalar_type(instr->type), i);
        mw_print_open(p, "if (threadIdx.x == %d)", shared++ * MW_WARP % MW_POINT_THREADS);
        mw_print_value(p, i);
        mw_print_line(p, "shared%d = v%d;", i, i);
        mw_print_close(p);
    }
    if (shared)
        mw_print_line(p, "__syncthreads();");
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (kind[i] == COSTLY)
            mw_print_line(p, "const %s v%d = shared%d;", mw_print_scalar_type(instr->type), i, i);
        else if (is_uniform(instr) && kind[i] == AFTER)
            mw_print_value(p, i);
    }
}

static void begin_turn(MwCudaNest *n)
{
    mw_print_line(&n->p, "const int part = at + turn * %d;", n->threads);
    mw_print_open(&n->p, "if (part < parts)");
    mw_print_line(&n->p, "const int j = part * %d;", n->width);
}

/* The elements of the chunk: neighbours at a time, and what is left of them at the end of a set. */
static void print_elements(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const bool *is_wide = p->is_wide;
    const int width = n->width;
    mw_print_line(p, "const int parts = size / %d;", width);
    mw_print_open(p, "for (int at = (int)threadIdx.x; at < parts; at += %d)",
                  n->threads * n->turns);
    if (n->turns > 1) {
        mw_cuda_print_turns(n, 0, begin_turn, mw_cuda_print_phase_points);
    } else {
        mw_print_line(p, "const int j = at * %d;", width);
        mw_cuda_print_columns_at(n, 0, mw_cuda_print_phase_points);
    }
    mw_print_close(p);
    n->width = 1;
    p->is_wide = NULL;
    mw_print_open(p, "for (int i0 = parts * %d + (int)threadIdx.x; i0 < size; i0 += %d)", width,
                  n->threads);
    mw_cuda_print_columns_at(n, 0, mw_cuda_print_phase_points);
    mw_print_close(p);
    n->width = width;
    p->is_wide = is_wide;
}

/* A value for each reduction: what a thread starts from, or what a block leaves. */
static void print_sums(MwCudaNest *n, bool begins)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_row(instr))
            continue;
        const char *type = mw_cuda_exchanged_type(instr);
        if (begins) {
            mw_print_line(p, "%s l%d = %s;", type, i, mw_print_first_value(instr));
            continue;
        }
        mw_print_line(p, "l%d = mw_block_%s(l%d, (%s *)shared);", i, mw_cuda_reduction(instr), i,
                      type);
        mw_print_line(p, "if (threadIdx.x == 0)");
        mw_print_line(p, "    t%d[blockIdx.x - sets.first[set]] = l%d;", i, i);
    }
}

static void print_points_function(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const char *points = mw_print_size(p, 0);
    mw_print_line(p, "static __global__ void __launch_bounds__(%d) @_0(const @_sets sets)",
                  MW_POINT_THREADS);
    mw_print_open_scope(p);
    if (reduces(n))
        mw_print_line(p, "__shared__ double shared[%d];", MW_POINT_THREADS / MW_WARP);
    print_set_of_block(p);
    print_args(p);
    mw_print_line(p, "const int64_t chunk = %s;",
                  reduces(n) ? mw_arena_printf(p->out->arena, "mw_sum_chunk(%s)", points)
                             : "sets.chunk");
    mw_print_line(p, "const int64_t begin = ((int)blockIdx.x - sets.first[set]) * chunk;");
    mw_print_line(p, "const int size = (int)mw_min(%s - begin, chunk);", points);
    print_operands(p, " + begin");
    print_sum_places(n);
    print_uniform(n);
    print_sums(n, true);
    print_elements(n);
    print_sums(n, false);
    mw_print_close(p);
}

/* A block for each set. */
static void print_end_function(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_line(p, "static __global__ void __launch_bounds__(%d) @_0_end(const @_sets sets)",
                  MW_POINT_THREADS);
    mw_print_open_scope(p);
    mw_print_line(p, "__shared__ double shared[%d];", MW_POINT_THREADS / MW_WARP);
    mw_print_line(p, "const int set = (int)blockIdx.x;");
    mw_print_line(p, "const int chunks = sets.first[set + 1] - sets.first[set];");
    print_args(p);
    print_operands(p, "");
    print_sum_places(n);
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_row(instr))
            continue;
        const char *type = mw_print_scalar_type(instr->type), *wide = mw_cuda_exchanged_type(instr);
        mw_print_line(p, "%s w%d = %s;", wide, i, mw_print_first_value(instr));
        mw_print_line(p, "for (int at = (int)threadIdx.x; at < chunks; at += %d)",
                      MW_POINT_THREADS);
        mw_print_line(p,
                      mw_instr_is_max(instr) ? "    w%d = mw_max(w%d, t%d[at]);"
                                             : "    w%d = w%d + t%d[at];",
                      i, i, i);
        mw_print_line(p, "const %s v%d = (%s)mw_block_%s(w%d, (%s *)shared);", type, i, type,
                      mw_cuda_reduction(instr), i, wide);
    }
    mw_print_line(p, "if (threadIdx.x > 0)");
    mw_print_line(p, "    return;");
    mw_print_level(p, MW_LEVEL_UNIFORM);
    mw_print_level(p, MW_LEVEL_ROW);
    mw_print_close(p);
}

/* ---- On the host ---- */

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

/* The sets from `from` on, and where the chunks of each begin. */
static void print_sets(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const char *points = mw_print_size(p, 0);
    bool sums = reduces(n);
    mw_print_line(p, "@_sets some;");
    mw_print_line(p, "some.count = mw_min(sets - from, %d);", sets_at_once(p->kernel));
    if (!sums)
        mw_print_line(p, "int64_t points = 0;");
    mw_print_open(p, "for (int s = 0; s < some.count; s++)");
    print_set(p);
    if (!sums)
        mw_print_line(p, "points += set->%s;", points);
    mw_print_close(p);
    if (!sums)
        mw_print_line(p, "some.chunk = mw_point_chunk(points, %d, %d);", n->threads * n->width,
                      (int)mw_max(n->threads * n->width * n->turns, MOST_POINTS));
    mw_print_line(p, "some.first[0] = 0;");
    mw_print_open(p, "for (int s = 0; s < some.count; s++)");
    mw_print_line(p, "const int64_t size = some.at[s].%s;", points);
    mw_print_line(p, "const int64_t chunk = %s;", sums ? "mw_sum_chunk(size)" : "some.chunk");
    mw_print_line(p, "some.first[s + 1] = some.first[s] + (int)((size + chunk - 1) / chunk);");
    mw_print_close(p);
}

static void print_launches(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_open(p, "for (int from = 0; from < sets; from += %d)", sets_at_once(p->kernel));
    print_sets(n);
    mw_print_line(p, "MW_LAUNCH(@_0, some.first[some.count], %d, stream, (some));",
                  MW_POINT_THREADS);
    if (reduces(n))
        mw_print_line(p, "MW_LAUNCH(@_0_end, some.count, %d, stream, (some));", MW_POINT_THREADS);
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
    mw_print_line(p, "static void @(void *const *operands, const MwKernelArg *args, int sets, void "
                     "*stream)");
    mw_print_open_scope(p);
    print_launches(n);
    mw_print_close(p);
}
