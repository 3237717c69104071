/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns that one thread takes: their indices, and what it does there, one by one or four at a
 * time. */
#include "codegen/print_cuda_rules.h"

#include <string.h>

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

static const char *kept_place(const MwCudaNest *n)
{
    return n->width == 1 ? "item" : "item * 4 + q";
}

static void print_point(MwCudaNest *n, int phase, int i)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    MwArena *arena = p->out->arena;
    if (mw_instr_is_effect(instr)) {
        mw_print_simple(p, i, true);
    } else if (mw_instr_reduces_row(instr)) {
        mw_print_into(p, instr, mw_arena_printf(arena, "l%d", i));
    } else if (mw_instr_reduces_rows(instr)) {
        mw_print_into(p, instr, mw_arena_printf(arena, "c%d[%s]", i, kept_place(n)));
    } else if (mw_phases_reads_back(&p->phases, phase, i)) {
        mw_print_line(p, "const %s v%d = k%d[%s];", mw_print_scalar_type(instr->type), i, i,
                      kept_place(n));
    } else {
        mw_print_value(p, i);
        if (p->phases.kept[i])
            mw_print_line(p, "k%d[%s] = v%d;", i, kept_place(n), i);
    }
}

static bool runs_in(const MwCudaNest *n, int phase, int i)
{
    return phase < 0 || n->p.phases.runs[phase][i];
}

static const char *element_name(const MwCudaNest *n, const MwKernelInstr *instr)
{
    static const char *const names[MW_TYPE_COUNT] = {
        [MW_F32] = "f32", [MW_BF16] = "bf16", [MW_I32] = "i32", [MW_BOOL] = "bool"};
    return names[n->p.kernel->operands.at[instr->operand].type];
}

static bool is_wide_in(const MwCudaNest *n, int phase, int i, bool stores)
{
    const MwPrinter *p = &n->p;
    return p->is_wide[i] && runs_in(n, phase, i) &&
           mw_instr_is_effect(&p->nest->instrs.at[i]) == stores &&
           (phase < 0 || !mw_phases_reads_back(&p->phases, phase, i));
}

/* Loads of four before the lanes, stores of four after them. */
static void print_wide(MwCudaNest *n, int phase, bool stores)
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
        const char *place = mw_print_place(p, instr);
        if (stores)
            mw_print_line(p, "mw_store4_%s(&%s, y%d);", element_name(n, instr), place, i);
        else
            mw_print_line(p, "mw_load4_%s(x%d, &%s);", element_name(n, instr), i, place);
    }
    if (is_open)
        mw_print_close(p);
}

static void print_wide_arrays(MwCudaNest *n, int phase)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        bool stores = mw_instr_is_effect(instr);
        if (!is_wide_in(n, phase, i, stores))
            continue;
        MwScalar type = stores ? mw_nest_instr(p->nest, instr->inputs[0])->type : instr->type;
        /* A store converts as an assignment to an element would. */
        const char *name = stores && strcmp(element_name(n, instr), "i32") == 0    ? "int32_t"
                           : stores && strcmp(element_name(n, instr), "bool") == 0 ? "bool"
                           : stores                                                ? "float"
                                    : mw_print_scalar_type(type);
        mw_print_line(p, "%s %c%d[4];", name, stores ? 'y' : 'x', i);
    }
}

void mw_cuda_print_columns_at(MwCudaNest *n, int phase, void (*print)(MwCudaNest *n, int phase))
{
    MwPrinter *p = &n->p;
    if (n->width == 1) {
        print(n, phase);
        return;
    }
    print_wide_arrays(n, phase);
    print_wide(n, phase, false);
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int q = 0; q < 4; q++)");
    mw_print_line(p, "const %s i%d = j + q;", n->index, mw_print_inner_dim(p));
    print(n, phase);
    mw_print_close(p);
    print_wide(n, phase, true);
}

void mw_cuda_print_phase_points(MwCudaNest *n, int phase)
{
    for (int effects = 0; effects < 2; effects++)
        for (int i = 0; i < n->p.nest->instrs.count; i++)
            if (n->p.phases.runs[phase][i] &&
                mw_instr_is_effect(&n->p.nest->instrs.at[i]) == effects)
                print_point(n, phase, i);
}
