/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/cuda_columns.h"

/* ---- Indices ---- */

void mw_cuda_print_indices(MwCudaNest *n, const char *count, int first, int end, int width)
{
    MwPrinter *p = &n->p;
    const char *rest = count;
    for (int d = end - 1; d >= first; d--) {
        int64_t size = p->nest->space.size[d];
        bool is_inner = d == end - 1 && width > 1;
        int64_t steps = is_inner ? size / width : size;
        const char *part =
            d == first ? rest
                       : mw_arena_printf(p->out->arena, "%s %% %lld", rest, (long long)steps);
        if (is_inner)
            mw_print_line(p, "const %s j = (%s) * %d;", n->index, part, width);
        else
            mw_print_line(p, "const %s i%d = %s;", n->index, d, part);
        rest = mw_arena_printf(p->out->arena, "%s / %lld", rest, (long long)steps);
    }
}

/* ---- Columns ---- */

void mw_cuda_print_values(MwCudaNest *n, MwLevel level)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++)
        if (n->p.nest->instrs.at[i].level == level &&
            !mw_instr_is_reduction(&n->p.nest->instrs.at[i]))
            mw_print_simple(&n->p, i, false);
}

/* Prints an instruction of the points of a phase: an effect, a part of a reduction, a value that
 * was kept, or a value that is computed and perhaps kept. */
static void print_instr(MwCudaNest *n, int phase, int i)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    MwArena *arena = p->out->arena;
    if (mw_instr_is_effect(instr)) {
        mw_print_simple(p, i, true);
    } else if (mw_instr_reduces_row(instr)) {
        mw_print_into(p, instr, mw_arena_printf(arena, "l%d", i));
    } else if (mw_instr_reduces_rows(instr)) {
        mw_print_into(p, instr, mw_arena_printf(arena, "c%d[%s]", i, n->kept));
    } else if (mw_phases_reads_back(&p->phases, phase, i)) {
        mw_print_line(p, "const %s v%d = k%d[%s];", mw_print_scalar_type(instr->type), i, i,
                      n->kept);
    } else {
        mw_print_value(p, i);
        if (p->phases.kept[i])
            mw_print_line(p, "k%d[%s] = v%d;", i, n->kept, i);
    }
}

void mw_cuda_print_phase_points(MwCudaNest *n, int phase)
{
    for (int effects = 0; effects < 2; effects++)
        for (int i = 0; i < n->p.nest->instrs.count; i++)
            if (n->p.phases.runs[phase][i] &&
                mw_instr_is_effect(&n->p.nest->instrs.at[i]) == effects)
                print_instr(n, phase, i);
}

/* ---- Neighbours ---- */

static bool runs_in(const MwCudaNest *n, int phase, int i)
{
    return phase < 0 || n->p.phases.runs[phase][i];
}

/* Whether instruction i is a load, or a store, of several neighbours in a phase. Additions to
 * places do not count as stores: their elements move when all rows of a place are added up. */
static bool is_wide_in(const MwCudaNest *n, int phase, int i, bool stores)
{
    const MwPrinter *p = &n->p;
    return p->is_wide && p->is_wide[i] && runs_in(n, phase, i) &&
           (p->nest->instrs.at[i].op == (stores ? MW_KERNEL_STORE : MW_KERNEL_LOAD)) &&
           (phase < 0 || !mw_phases_reads_back(&p->phases, phase, i));
}

/* Prints the wide loads, or stores, of a phase; `of_turn` is the index of the turn, "[turn]" or
 * "". */
static void print_wide(MwCudaNest *n, int phase, bool stores, const char *of_turn)
{
    MwPrinter *p = &n->p;
    bool is_open = false;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!is_wide_in(n, phase, i, stores))
            continue;
        if (!is_open) {
            mw_print_open_scope(p);
            mw_print_line(p, "const %s i%d = j;", n->index, mw_print_inner_dim(p));
        }
        is_open = true;
        const char *place = mw_print_place(p, instr), *element = mw_cuda_element_name(n, instr);
        const bool is_guarded = stores && mw_print_guard(p, instr);
        if (stores)
            mw_print_line(p, "mw_store%d_%s(&%s, y%d);", n->width, element, place, i);
        else
            mw_print_line(p, "mw_load%d_%s(x%d%s, &%s);", n->width, element, i, of_turn, place);
        p->indent -= is_guarded;
    }
    if (is_open)
        mw_print_close(p);
}

/* Declares the arrays that wide loads fill, or wide stores read. A store converts as an assignment
 * to an element would. */
static void print_wide_arrays(MwCudaNest *n, int phase, bool stores, const char *of_turns)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!is_wide_in(n, phase, i, stores))
            continue;
        const MwType stored = p->kernel->operands.at[instr->operand].type;
        if (stores)
            mw_print_line(p, "%s y%d[%d];", mw_print_scalar_type(mw_scalar_of(stored)), i,
                          n->width);
        else
            mw_print_line(p, "%s x%d%s[%d];", mw_print_scalar_type(instr->type), i, of_turns,
                          n->width);
    }
}

/* Prints the code after the loads: the loop over the neighbours, then the stores. */
static void print_lanes(MwCudaNest *n, int phase, MwCudaPoint *print)
{
    MwPrinter *p = &n->p;
    print_wide_arrays(n, phase, true, "");
    mw_cuda_print(n,
                  "#pragma unroll\n"
                  "for (int q = 0; q < $width; q++) {\n"
                  "    const $index i$inner = j + q;\n",
                  MW_HOLES({"inner", mw_print_number(p, mw_print_inner_dim(p))}));
    print(n, phase);
    mw_print_close(p);
    print_wide(n, phase, true, "");
}

void mw_cuda_print_columns_at(MwCudaNest *n, int phase, MwCudaPoint *print)
{
    if (n->width == 1) {
        print(n, phase);
        return;
    }
    print_wide_arrays(n, phase, false, "");
    print_wide(n, phase, false, "");
    n->p.lane = "[q]";
    print_lanes(n, phase, print);
}

void mw_cuda_print_turns(MwCudaNest *n, int phase, void (*begin)(MwCudaNest *n), MwCudaPoint *print)
{
    MwPrinter *p = &n->p;
    const int indent = p->indent;
    MW_ASSERT(n->width > 1);
    print_wide_arrays(n, phase, false, mw_arena_printf(p->out->arena, "[%d]", n->turns));
    n->p.lane = "[turn][q]";
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        mw_cuda_print(n,
                      "#pragma unroll\n"
                      "for (int turn = 0; turn < $turns; turn++) {\n",
                      NULL, 0);
        begin(n);
        if (goes_on)
            print_lanes(n, phase, print);
        else
            print_wide(n, phase, false, "[turn]");
        mw_print_close_to(p, indent);
    }
}

/* ---- Points ---- */

void mw_cuda_print_point(MwCudaNest *n, int phase)
{
    (void)phase;
    MwPrinter *p = &n->p;
    MwText first = {.arena = p->out->arena};
    for (int d = p->nest->space.row_dims; d < p->nest->space.dim_count; d++)
        mw_text_printf(&first, "%si%d == 0", first.at ? " && " : "", d);
    mw_cuda_print_values(n, MW_LEVEL_POINT);
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        bool of_row = instr->level == MW_LEVEL_ROW;
        if (!mw_instr_is_effect(instr) || (!of_row && instr->level != MW_LEVEL_POINT))
            continue;
        if (of_row && first.at)
            mw_print_line(p, "if (%s)", first.at);
        mw_print_simple(p, i, true);
    }
}
