/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of threads that take rows (print_cuda_rules.h). */
#include "codegen/print_cuda_rules.h"

enum { UNROLLED = 8 };

const char *mw_cuda_reduction(const MwKernelInstr *instr)
{
    if (mw_instr_is_max(instr))
        return instr->type == MW_SCALAR_F32 ? "max_f32" : "max_i32";
    return instr->type == MW_SCALAR_F32 || instr->type == MW_SCALAR_F64 ? "sum_f64" : "sum_i64";
}

/* What threads exchange of a reduction. */
const char *mw_cuda_exchanged_type(const MwKernelInstr *instr)
{
    if (mw_instr_is_max(instr))
        return instr->type == MW_SCALAR_F32 ? "float" : "int";
    return instr->type == MW_SCALAR_F32 || instr->type == MW_SCALAR_F64 ? "double" : "long long";
}

/* Threads add up in double where they have many columns to add. */
static const char *thread_type(const MwCudaNest *n, const MwKernelInstr *instr)
{
    if (mw_instr_is_max(instr))
        return mw_print_scalar_type(instr->type);
    return n->items * n->width > 64 ? mw_print_wide_type(instr->type)
                                    : mw_print_scalar_type(instr->type);
}

static void print_sums_begin(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (p->phases.runs[phase][i] && mw_instr_reduces_row(instr))
            mw_print_line(p, "%s l%d = %s;", thread_type(n, instr), i, mw_print_first_value(instr));
    }
}

static void print_sums_end(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!p->phases.runs[phase][i] || !mw_instr_reduces_row(instr))
            continue;
        const char *type = mw_print_scalar_type(instr->type), *how = mw_cuda_reduction(instr);
        if (n->group == 1)
            mw_print_line(p, "const %s v%d = (%s)l%d;", type, i, type, i);
        else if (n->group == MW_WARP)
            mw_print_line(p, "const %s v%d = (%s)mw_warp_%s(l%d);", type, i, type, how, i);
        else
            mw_print_line(p, "const %s v%d = (%s)mw_block_%s(l%d, (%s *)shared);", type, i, type,
                          how, i, mw_cuda_exchanged_type(instr));
    }
}

static void print_row_values(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->phases.phase[i] == phase && p->nest->instrs.at[i].level == MW_LEVEL_ROW &&
            !mw_instr_reduces_row(&p->nest->instrs.at[i]))
            mw_print_simple(p, i, false);
}

static void print_row_effects(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (p->phases.phase[i] != phase)
            continue;
        bool is_effect = mw_instr_is_effect(instr) && instr->level == MW_LEVEL_ROW;
        if ((is_effect || mw_instr_reduces_all(instr)) && n->group > 1)
            mw_print_line(p, "if (lane == 0)");
        if (is_effect)
            mw_print_simple(p, i, true);
        else if (mw_instr_reduces_all(instr))
            mw_print_into(p, instr, mw_arena_printf(p->out->arena, "u%d", i));
    }
}

/* A row's values may come from where the row is written. */
static bool writes_what_it_reads(const MwKernelDef *kernel)
{
    for (int i = 0; i < kernel->operands.count; i++)
        if (kernel->operands.at[i].reads && kernel->operands.at[i].writes)
            return true;
    return false;
}

static void print_row_columns(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    if (!mw_cuda_has_columns(n)) {
        if (n->group > 1)
            mw_print_open(p, "if (lane == 0)");
        else
            mw_print_open_scope(p);
        mw_print_line(p, "const int item = 0;");
        mw_print_line(p, "(void)item;");
        mw_cuda_print_phase_points(n, phase);
        mw_print_close(p);
        return;
    }
    int64_t units = n->columns / n->width;
    if (n->items <= UNROLLED)
        mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int item = 0; item < %lld; item++)", (long long)n->items);
    mw_print_line(p, "const %s column = item * %d + lane;", n->index, n->group);
    if (units % n->group)
        mw_print_open(p, "if (column < %lld)", (long long)units);
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, n->width);
    mw_cuda_print_columns_at(n, phase, mw_cuda_print_phase_points);
    if (units % n->group)
        mw_print_close(p);
    mw_print_close(p);
}

static void print_row(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    bool waits = n->group > 1 && writes_what_it_reads(p->kernel);
    for (int phase = 0; phase < p->phases.count; phase++) {
        print_row_values(n, phase);
        if (waits)
            mw_print_line(p, n->group == MW_WARP ? "__syncwarp();" : "__syncthreads();");
        print_row_effects(n, phase);
        print_sums_begin(n, phase);
        if (!p->phases.is_empty[phase])
            print_row_columns(n, phase);
        print_sums_end(n, phase);
    }
    if (waits)
        mw_print_line(p, n->group == MW_WARP ? "__syncwarp();" : "__syncthreads();");
}

/* Arrays of a thread: what is kept of its columns, and their sums over rows. */
static void print_thread_arrays(MwCudaNest *n, bool kept)
{
    MwPrinter *p = &n->p;
    long long count = n->items * n->width;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        const char *type = mw_print_scalar_type(instr->type);
        if (kept && p->phases.kept[i])
            mw_print_line(p, "%s k%d[%lld];", type, i, count);
        if (kept || !mw_instr_reduces_rows(instr))
            continue;
        mw_print_line(p, "%s c%d[%lld];", type, i, count);
        mw_print_line(p, "for (int item = 0; item < %lld; item++)", count);
        mw_print_line(p, "    c%d[item] = %s;", i, mw_print_first_value(instr));
    }
}

static void print_totals_begin(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (mw_instr_reduces_all(instr))
            mw_print_line(p, "%s u%d = %s;", mw_cuda_exchanged_type(instr), i,
                          mw_print_first_value(instr));
    }
}

/* The sums of a block go to where those of all blocks are. */
static void print_block_sums(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (mw_instr_reduces_all(instr)) {
            mw_print_line(p, "u%d = mw_block_%s(u%d, (%s *)shared);", i, mw_cuda_reduction(instr),
                          i, mw_cuda_exchanged_type(instr));
            mw_print_line(p, "if (threadIdx.x == 0)");
            mw_print_line(p, "    t%d[blockIdx.x] = u%d;", i, i);
        }
        if (!mw_instr_reduces_rows(instr))
            continue;
        mw_print_open(p, "for (int item = 0; item < %lld; item++)", (long long)n->items);
        mw_print_open(p, "for (int q = 0; q < %d; q++)", n->width);
        mw_print_line(p, "const %s column = (item * %d + lane) * %d + q;", n->index, n->group,
                      n->width);
        mw_print_line(p, "if (column < %lld)", (long long)n->columns);
        mw_print_line(p, "    r%d[(int64_t)blockIdx.x * %lld + column] = c%d[item * %d + q];", i,
                      (long long)n->columns, i, n->width);
        mw_print_close(p);
        mw_print_close(p);
    }
}

void mw_cuda_print_rows(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int groups = n->threads / n->group;
    if (n->has_totals || n->group > MW_WARP)
        mw_print_line(p, "__shared__ double shared[%d];", n->threads / MW_WARP);
    if (groups == 1)
        mw_print_line(p, "const int lane = (int)threadIdx.x, group = (int)blockIdx.x;");
    else
        mw_print_line(p,
                      "const int lane = (int)threadIdx.x %% %d, group = (int)(blockIdx.x * %d + "
                      "threadIdx.x / %d);",
                      n->group, groups, n->group);
    mw_print_line(p, "(void)lane;");
    print_thread_arrays(n, false);
    print_totals_begin(n);
    mw_print_open(p, "for (%s row = group; row < %lld; row += %lld)", n->index, (long long)n->rows,
                  (long long)(n->blocks * groups));
    mw_cuda_print_indices(n, "row", 0, p->nest->space.row_dims, 1);
    print_thread_arrays(n, true);
    print_row(n);
    mw_print_close(p);
    print_block_sums(n);
}
