/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The function of a nest whose rows are reduced: groups of threads take rows (cuda_nest.h).
 *
 * The warps of a group exchange their parts of a reduction through shared memory, with one barrier
 * for all reductions of a phase; groups within a warp exchange lanes. Sums over rows stand in
 * registers, for the columns that the thread takes of every row; at the end the groups of a block
 * add theirs up. */
#include "codegen/print/cuda_rows.h"

#include "codegen/print/cuda_columns.h"
#include "codegen/tuning.h"

/* Says whether threads add up and exchange a sum along a row in its own type, which they do if each
 * has few columns. */
static bool adds_floats(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return instr->type == MW_SCALAR_F32 && !mw_instr_is_max(instr) &&
           n->items * n->width <= MW_TUNED_CUDA_FLOAT_ELEMENTS;
}

static const char *row_reduction(const MwCudaNest *n, const MwKernelInstr *instr)
{
    return adds_floats(n, instr) ? "sum_f32" : mw_cuda_reduction(n, instr);
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

/* ---- Reductions over several warps ---- */

/* Counts the row reductions before instruction `end`. Each has a row of its own in `shared`, or
 * two, with a place for the part of every warp. */
static int reductions_before(const MwCudaNest *n, int end)
{
    int count = 0;
    for (int i = 0; i < end; i++)
        count += mw_instr_reduces_row(&n->p.nest->instrs.at[i]);
    return count;
}

/* Says whether one barrier a row is all that orders what warps leave and take, and blocks take
 * several rows, so that threads may still read the places of one row when they are written for the
 * next. Rows then use two sets of places in turn: what is read of a row comes before the barrier of
 * the next, and that before what is written two rows later. */
static bool has_two_sides(const MwCudaNest *n)
{
    int phases = 0;
    for (int phase = 0; phase < n->p.phases.count; phase++) {
        bool reduces = false;
        for (int i = 0; i < n->p.nest->instrs.count; i++)
            reduces |= is_reduced_in(n, phase, i);
        phases += reduces;
    }
    return phases == 1 && n->group > MW_WARP && n->rows > n->blocks * (n->threads / n->group);
}

/* Prints a pointer to the places of each reduction, and stores the part of each warp there. */
static void print_warps_store(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const char *type = row_type(n, &p->nest->instrs.at[i]);
        const int place = reductions_before(n, i);
        if (!is_reduced_in(n, phase, i))
            continue;
        if (has_two_sides(n))
            mw_print_line(p, "%s *const f%d = (%s *)shared[%d + side];", type, i, type, 2 * place);
        else
            mw_print_line(p, "%s *const f%d = (%s *)shared[%d];", type, i, type, place);
    }
    mw_print_open(p, "if (threadIdx.x %% 32 == 0)");
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (is_reduced_in(n, phase, i))
            mw_print_line(p, "f%d[threadIdx.x / 32] = l%d;", i, i);
    mw_print_close(p);
    mw_print_line(p, "__syncthreads();");
}

/* Prints the reductions of a phase over the lanes of a warp, or of a part of it. Returns whether
 * the phase has any. */
static bool print_lanes_reduce(MwCudaNest *n, int phase)
{
    bool any = false;
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        if (!is_reduced_in(n, phase, i))
            continue;
        any = true;
        const char *how = row_reduction(n, &n->p.nest->instrs.at[i]);
        if (n->group >= MW_WARP)
            mw_print_line(&n->p, "l%d = mw_warp_%s(l%d);", i, how, i);
        else if (n->group > 1)
            mw_print_line(&n->p, "l%d = mw_part_%s(l%d, %d);", i, how, i, n->group);
    }
    return any;
}

/* Prints the rest of the reductions of a phase: they become values that all threads of the row
 * have. */
static void print_sums_end(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    if (print_lanes_reduce(n, phase) && n->group > MW_WARP)
        print_warps_store(n, phase);
    for (int i = 0; i < p->nest->instrs.count; i++) {
        if (!is_reduced_in(n, phase, i))
            continue;
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        const MwHole holes[] = {{"type", mw_print_scalar_type(instr->type)},
                                {"i", mw_print_number(p, i)},
                                {"how", row_reduction(n, instr)},
                                {"warps", mw_print_number(p, n->group / MW_WARP)}};
        if (n->group <= MW_WARP)
            mw_cuda_print(n, "const $type v$i = ($type)l$i;\n", holes, MW_COUNT(holes));
        else if (n->threads == n->group)
            mw_cuda_print(n, "const $type v$i = ($type)mw_warps_$how(f$i + 0, $warps);\n", holes,
                          MW_COUNT(holes));
        else
            mw_cuda_print(n,
                          "const $type v$i = ($type)mw_warps_$how(f$i + part * $warps, $warps);\n",
                          holes, MW_COUNT(holes));
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

/* Says whether all threads of a row may read an element of the operand that one of them writes. */
static bool rows_read(const MwCudaNest *n, int operand)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (instr->op == MW_KERNEL_LOAD && (instr->level == MW_LEVEL_ROW || instr->input_count) &&
            instr->operand == operand)
            return true;
    }
    return false;
}

/* Says whether one thread of a row may write in a phase what all threads of the row have read. */
static bool writes_what_rows_read(const MwCudaNest *n, int phase)
{
    for (int i = 0; i < n->p.nest->instrs.count && n->group > 1; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (mw_instr_is_effect(instr) && n->p.phases.phase[i] == phase &&
            rows_read(n, instr->operand))
            return true;
    }
    return false;
}

/* Lets no thread of a row go on before all are there. */
static void print_row_barrier(MwCudaNest *n)
{
    mw_print_line(&n->p, n->group <= MW_WARP ? "__syncwarp();" : "__syncthreads();");
}

/* Prints the pragma that unrolls the loop over turns: completely if arrays must become registers,
 * otherwise so far that several loads are in flight. */
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
                      (int)mw_min(mw_max(MW_TUNED_CUDA_ROW_LOADS / mw_max(loads, 1), 1),
                                  MW_TUNED_CUDA_UNROLL));
}

/* Prints the only point of a row that has no columns. */
static void print_lone_column(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    if (n->group > 1)
        mw_print_open(p, "if (lane == 0)");
    else
        mw_print_open_scope(p);
    mw_cuda_print(n,
                  "const int item = 0;\n"
                  "(void)item;\n",
                  NULL, 0);
    mw_cuda_print_phase_points(n, phase);
    mw_print_close(p);
}

/* Prints the loop over the columns of a thread. */
static void print_row_columns(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    const int64_t units = mw_cuda_units(n);
    const int indent = p->indent;
    print_unroll(n, phase);
    mw_cuda_print(n,
                  "for (int item = 0; item < $items; item++) {\n"
                  "    const $index column = item * $group + lane;\n",
                  MW_HOLES({"items", mw_print_number(p, n->items)}));
    if (units % n->group)
        mw_print_open(p, "if (column < %lld)", (long long)units);
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, n->width);
    mw_cuda_print_columns_at(n, phase, mw_cuda_print_phase_points);
    mw_print_close_to(p, indent);
}

static void print_row(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    bool waited = false;
    for (int phase = 0; phase < p->phases.count; phase++) {
        print_row_values(n, phase);
        if (writes_what_rows_read(n, phase)) {
            print_row_barrier(n);
            waited = true;
        }
        print_row_effects(n, phase);
        print_sums_begin(n, phase);
        if (!p->phases.is_empty[phase] && mw_cuda_has_columns(n))
            print_row_columns(n, phase);
        else if (!p->phases.is_empty[phase])
            print_lone_column(n, phase);
        print_sums_end(n, phase);
    }
    if (waited)
        print_row_barrier(n);
}

static const char *own_columns(const MwCudaNest *n)
{
    return mw_print_number(&n->p, n->items * n->width);
}

/* Declares the arrays of the values that a thread keeps from phase to phase. */
static void print_kept_arrays(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->phases.kept[i])
            mw_print_line(p, "%s k%d[%s];", mw_print_scalar_type(p->nest->instrs.at[i].type), i,
                          own_columns(n));
}

/* Declares the arrays of a thread's parts of sums over rows, for its columns. */
static void print_sum_arrays(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (mw_instr_reduces_rows(instr))
            mw_cuda_print(n,
                          "$type c$i[$own];\n"
                          "#pragma unroll\n"
                          "for (int item = 0; item < $own; item++)\n"
                          "    c$i[item] = $first;\n",
                          MW_HOLES({"type", mw_print_scalar_type(instr->type)},
                                   {"i", mw_print_number(p, i)}, {"own", own_columns(n)},
                                   {"first", mw_print_first_value(instr)}));
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
        if (mw_instr_reduces_all(instr))
            mw_cuda_print(n,
                          "u$i = mw_block_$how(u$i, ($type *)shared);\n"
                          "if (threadIdx.x == 0)\n"
                          "    t$i[blockIdx.x] = u$i;\n",
                          MW_HOLES({"i", mw_print_number(p, i)},
                                   {"how", mw_cuda_reduction(n, instr)},
                                   {"type", mw_cuda_exchanged_type(instr)}));
    }
}

/* Prints how the first group of a block adds the other groups' parts of a sum over rows, in the
 * order of the groups. Threads write and read neighbouring words, so that no two use one bank. */
static void print_fold_groups(MwCudaNest *n, int i)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    const char *sum = mw_arena_printf(p->out->arena, "c%d[own]", i);
    mw_cuda_print(n,
                  "__syncthreads();\n"
                  "#pragma unroll\n"
                  "for (int own = 0; own < $own; own++)\n"
                  "    (($type *)folded)[own * $threads + threadIdx.x] = $sum;\n"
                  "__syncthreads();\n"
                  "for (int other = 1; other < $groups; other++) {\n"
                  "    #pragma unroll\n"
                  "    for (int own = 0; own < $own; own++) {\n"
                  "        const $type more = (($type *)folded)[own * $threads + other * $group + "
                  "lane];\n"
                  "        $sum = $joined;\n"
                  "    }\n"
                  "}\n",
                  MW_HOLES({"type", mw_print_scalar_type(instr->type)}, {"own", own_columns(n)},
                           {"groups", mw_print_number(p, n->threads / n->group)}, {"sum", sum},
                           {"joined", mw_cuda_joined(n, instr, sum, "more")}));
}

/* Stores the block's parts of sums over rows in the scratch memory. */
static void print_block_sums(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const bool has_groups = n->threads > n->group;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        if (!mw_instr_reduces_rows(&p->nest->instrs.at[i]))
            continue;
        if (has_groups)
            print_fold_groups(n, i);
        mw_cuda_print(n,
                      "#pragma unroll\n"
                      "for (int own = 0; own < $own; own++) {\n"
                      "    const $index column = (own / $width * $group + lane) * $width + own % "
                      "$width;\n"
                      "    if (column < $columns$only_first)\n"
                      "        r$i[(int64_t)blockIdx.x * $columns + column] = c$i[own];\n"
                      "}\n",
                      MW_HOLES({"own", own_columns(n)}, {"i", mw_print_number(p, i)},
                               {"only_first", has_groups ? " && part == 0" : ""}));
    }
}

static void print_shared(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int places = n->group > MW_WARP ? reductions_before(n, p->nest->instrs.count) : 0;
    places *= has_two_sides(n) ? 2 : 1;
    if (places || n->has_totals)
        mw_print_line(p, "__shared__ double shared[%d][%d];", (int)mw_max(places, 1),
                      n->threads / MW_WARP);
    if (p->has_column_sums && n->threads > n->group)
        mw_print_line(p, "__shared__ %s folded[%lld];", mw_cuda_folded_type(n),
                      (long long)(n->items * n->width * n->threads));
}

void mw_cuda_print_rows(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int groups = n->threads / n->group;
    const MwHole holes[] = {{"groups", mw_print_number(p, groups)},
                            {"stride", mw_print_number(p, n->blocks * groups)}};
    print_shared(n);
    mw_cuda_print(
        n,
        groups == 1
            ? "const int lane = (int)threadIdx.x, group = (int)blockIdx.x;\n"
            : "const int lane = (int)threadIdx.x % $group, part = (int)threadIdx.x / $group, group "
              "= (int)blockIdx.x * $groups + part;\n",
        holes, MW_COUNT(holes));
    mw_print_line(p, "(void)lane;");
    print_sum_arrays(n);
    print_totals_begin(n);
    if (has_two_sides(n))
        mw_print_line(p, "int side = 0;");
    mw_cuda_print(n, "for ($index row = group; row < $rows; row += $stride) {\n", holes,
                  MW_COUNT(holes));
    mw_cuda_print_indices(n, "row", 0, p->nest->space.row_dims, 1);
    print_kept_arrays(n);
    print_row(n);
    if (has_two_sides(n))
        mw_print_line(p, "side ^= 1;");
    mw_print_close(p);
    print_block_totals(n);
    print_block_sums(n);
}
