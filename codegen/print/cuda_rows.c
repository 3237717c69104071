/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of threads that take rows (cuda_nest.h). */
#include "codegen/print/cuda_rows.h"

#include "codegen/print/cuda_columns.h"

enum { LOADS = 8, MOST_UNROLLED = 4 };

/* Threads add up in a wider type where they have many columns to add. */
static bool is_long(const MwCudaNest *n)
{
    return n->items * n->width > 128;
}

/* The same within a row, whose parts are few and of one size. */
static bool adds_floats(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return instr->type == MW_SCALAR_F32 && !mw_instr_is_max(instr) && !is_long(n);
}

static const char *row_reduction(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return adds_floats(n, instr) ? "sum_f32" : mw_cuda_reduction(instr);
}

static const char *row_type(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return adds_floats(n, instr) ? "float" : mw_cuda_exchanged_type(instr);
}

static bool is_reduced_in(const MwCudaNest *n, int phase, int i)
{
    return n->p.phases.runs[phase][i] && mw_instr_reduces_row(&n->p.nest->instrs.at[i]);
}

static void print_sums_begin(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (is_reduced_in(n, phase, i))
            mw_print_line(p, "%s l%d = %s;", row_type(n, instr), i, mw_print_first_value(instr));
    }
}

/* ---- What several warps add up ---- */

/* Every reduction of a row has places of its own for what the warps of the block have. */
static int places_of(const MwCudaNest *n, int end)
{
    int count = 0;
    for (int i = 0; i < end; i++)
        count += mw_instr_reduces_row(&n->p.nest->instrs.at[i]);
    return count;
}

/* Whether the places are written again before all threads were seen to have read them: between two
 * rows, where no other phase waits. */
static bool is_only_reducing_phase(const MwCudaNest *n)
{
    int phases = 0;
    for (int phase = 0; phase < n->p.phases.count; phase++) {
        bool reduces = false;
        for (int i = 0; i < n->p.nest->instrs.count; i++)
            reduces |= is_reduced_in(n, phase, i);
        phases += reduces;
    }
    return phases == 1;
}

/* Names for the places, and what each warp has into them. */
static void print_warps_leave(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const char *type = row_type(n, &p->nest->instrs.at[i]);
        if (is_reduced_in(n, phase, i))
            mw_print_line(p, "%s *const f%d = (%s *)shared[%d];", type, i, type, places_of(n, i));
    }
    if (is_only_reducing_phase(n))
        mw_print_line(p, "__syncthreads();");
    mw_print_open(p, "if (threadIdx.x %% 32 == 0)");
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (is_reduced_in(n, phase, i))
            mw_print_line(p, "f%d[threadIdx.x / 32] = l%d;", i, i);
    mw_print_close(p);
    mw_print_line(p, "__syncthreads();");
}

static void print_sums_end(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    int count = places_of(n, p->nest->instrs.count);
    bool any = false;
    for (int i = 0; i < p->nest->instrs.count && count; i++) {
        if (!is_reduced_in(n, phase, i))
            continue;
        any = true;
        const char *how = row_reduction(n, &p->nest->instrs.at[i]);
        if (n->group >= MW_WARP)
            mw_print_line(p, "l%d = mw_warp_%s(l%d);", i, how, i);
        else if (n->group > 1)
            mw_print_line(p, "l%d = mw_part_%s(l%d, %d);", i, how, i, n->group);
    }
    if (any && n->group > MW_WARP)
        print_warps_leave(n, phase);
    for (int i = 0; i < p->nest->instrs.count; i++) {
        if (!is_reduced_in(n, phase, i))
            continue;
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        const char *type = mw_print_scalar_type(instr->type);
        if (n->group <= MW_WARP)
            mw_print_line(p, "const %s v%d = (%s)l%d;", type, i, type, i);
        else
            mw_print_line(p, "const %s v%d = (%s)mw_warps_%s(f%d + %s, %d);", type, i, type,
                          row_reduction(n, instr), i,
                          n->threads == n->group
                              ? "0"
                              : mw_arena_printf(p->out->arena, "part * %d", n->group / MW_WARP),
                          n->group / MW_WARP);
    }
}

/* ---- A row ---- */

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

/* Whether what all threads of a row read may be written by one of them. */
static bool writes_what_rows_read(const MwCudaNest *n)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (instr->op == MW_KERNEL_LOAD && (instr->level == MW_LEVEL_ROW || instr->input_count) &&
            n->p.kernel->operands.at[instr->operand].writes)
            return true;
    }
    return false;
}

/* All turns where arrays are to be registers; else so many that some loads are on their way at once. */
static void print_unroll(MwCudaNest *n, int phase)
{
    int loads = 0;
    bool has_arrays = n->p.has_column_sums;
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        has_arrays |= n->p.phases.kept[i];
        loads += n->p.phases.runs[phase][i] && instr->op == MW_KERNEL_LOAD;
    }
    if (has_arrays)
        mw_print_line(&n->p, "#pragma unroll");
    else
        mw_print_line(&n->p, "#pragma unroll %d",
                      (int)mw_min(mw_max(LOADS / mw_max(loads, 1), 1), MOST_UNROLLED));
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
    print_unroll(n, phase);
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
    bool waits = n->group > 1 && writes_what_rows_read(n);
    for (int phase = 0; phase < p->phases.count; phase++) {
        print_row_values(n, phase);
        if (waits)
            mw_print_line(p, n->group <= MW_WARP ? "__syncwarp();" : "__syncthreads();");
        print_row_effects(n, phase);
        print_sums_begin(n, phase);
        if (!p->phases.is_empty[phase])
            print_row_columns(n, phase);
        print_sums_end(n, phase);
    }
    if (waits)
        mw_print_line(p, n->group <= MW_WARP ? "__syncwarp();" : "__syncthreads();");
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
        mw_print_line(p, "#pragma unroll");
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

/* ---- A block ---- */

static void print_block_totals(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_all(instr))
            continue;
        mw_print_line(p, "u%d = mw_block_%s(u%d, (%s *)shared);", i, mw_cuda_reduction(instr), i,
                      mw_cuda_exchanged_type(instr));
        mw_print_line(p, "if (threadIdx.x == 0)");
        mw_print_line(p, "    t%d[blockIdx.x] = u%d;", i, i);
    }
}

/* The loop over the columns of a thread, each with its place in the row. */
static void print_open_own_columns(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int own = 0; own < %lld; own++)", (long long)(n->items * n->width));
    mw_print_line(p, "const %s column = (own / %d * %d + lane) * %d + own %% %d;", n->index,
                  n->width, n->group, n->width, n->width);
}

/* The first group takes over what the others have, in their order, without meeting in a bank. */
static void print_fold_groups(MwCudaNest *n, int i)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    int groups = n->threads / n->group;
    mw_print_line(p, "__syncthreads();");
    mw_print_line(p, "#pragma unroll");
    mw_print_line(p, "for (int own = 0; own < %lld; own++)", (long long)(n->items * n->width));
    mw_print_line(p, "    ((%s *)folded)[own * %d + threadIdx.x] = c%d[own];",
                  mw_print_scalar_type(instr->type), n->threads, i);
    mw_print_line(p, "__syncthreads();");
    mw_print_open(p, "for (int other = 1; other < %d; other++)", groups);
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int own = 0; own < %lld; own++)", (long long)(n->items * n->width));
    mw_print_line(p, "const %s more = ((%s *)folded)[own * %d + other * %d + lane];",
                  mw_print_scalar_type(instr->type), mw_print_scalar_type(instr->type), n->threads,
                  n->group);
    mw_print_line(p,
                  mw_instr_is_max(instr) ? "c%d[own] = mw_max(c%d[own], more);"
                                         : "c%d[own] = c%d[own] + more;",
                  i, i);
    mw_print_close(p);
    mw_print_close(p);
}

static void print_block_sums(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        if (!mw_instr_reduces_rows(&p->nest->instrs.at[i]))
            continue;
        if (n->threads > n->group)
            print_fold_groups(n, i);
        print_open_own_columns(n);
        mw_print_line(p, "if (column < %lld%s)", (long long)n->columns,
                      n->threads > n->group ? " && part == 0" : "");
        mw_print_line(p, "    r%d[(int64_t)blockIdx.x * %lld + column] = c%d[own];", i,
                      (long long)n->columns, i);
        mw_print_close(p);
    }
}

static void print_shared(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int places = n->group > MW_WARP ? places_of(n, p->nest->instrs.count) : 0;
    if (places || n->has_totals)
        mw_print_line(p, "__shared__ double shared[%d][%d];", (int)mw_max(places, 1),
                      n->threads / MW_WARP);
    if (p->has_column_sums && n->threads > n->group)
        mw_print_line(p, "__shared__ int32_t folded[%lld];",
                      (long long)(n->items * n->width * n->threads));
}

void mw_cuda_print_rows(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int groups = n->threads / n->group;
    print_shared(n);
    if (groups == 1)
        mw_print_line(p, "const int lane = (int)threadIdx.x, group = (int)blockIdx.x;");
    else
        mw_print_line(
            p,
            "const int lane = (int)threadIdx.x %% %d, part = (int)threadIdx.x / %d, group "
            "= (int)blockIdx.x * %d + part;",
            n->group, n->group, groups);
    mw_print_line(p, "(void)lane;");
    print_thread_arrays(n, false);
    print_totals_begin(n);
    mw_print_open(p, "for (%s row = group; row < %lld; row += %lld)", n->index, (long long)n->rows,
                  (long long)(n->blocks * groups));
    mw_cuda_print_indices(n, "row", 0, p->nest->space.row_dims, 1);
    print_thread_arrays(n, true);
    print_row(n);
    mw_print_close(p);
    print_block_totals(n);
    print_block_sums(n);
}
