/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/c_columns.h"

enum { LANES = 32, BLOCK = 4096 };

static bool has_column_dims(const MwPrinter *p)
{
    return p->nest->space.dim_count > p->nest->space.row_dims;
}

/* The column's index within the row, or within the tile. */
const char *mw_c_column_index(const MwPrinter *p)
{
    const MwSpace *space = &p->nest->space;
    MwArena *arena = p->out->arena;
    if (!has_column_dims(p))
        return "0";
    if (p->tile)
        return mw_arena_printf(arena, "i%d - tile", mw_print_inner_dim(p));
    const char *text = mw_arena_printf(arena, "i%d", space->row_dims);
    for (int d = space->row_dims + 1; d < space->dim_count; d++)
        text = mw_arena_printf(arena, "(%s) * %lld + i%d", text, (long long)space->size[d], d);
    return text;
}

static void print_point(MwPrinter *p, int phase, int i)
{
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    if (mw_instr_is_effect(instr)) {
        mw_print_simple(p, i, true);
    } else if (mw_instr_reduces_row(instr)) {
        const char *sum = has_column_dims(p) ? "l%d[l]" : "w%d";
        mw_print_into(p, instr, mw_arena_printf(p->out->arena, sum, i));
    } else if (mw_instr_reduces_rows(instr)) {
        mw_print_into(p, instr, mw_arena_printf(p->out->arena, "c%d[%s]", i, mw_c_column_index(p)));
    } else if (mw_phases_reads_back(&p->phases, phase, i)) {
        mw_print_line(p, "const %s v%d = k%d[%s];", mw_print_scalar_type(instr->type), i, i,
                      mw_c_column_index(p));
    } else {
        mw_print_value(p, i);
        if (p->phases.kept[i])
            mw_print_line(p, "k%d[%s] = v%d;", i, mw_c_column_index(p), i);
    }
}

/* Effects last, as everywhere. */
static void print_points(MwPrinter *p, int phase)
{
    for (int effects = 0; effects < 2; effects++)
        for (int i = 0; i < p->nest->instrs.count; i++)
            if (p->phases.runs[phase][i] && mw_instr_is_effect(&p->nest->instrs.at[i]) == effects)
                print_point(p, phase, i);
}

static bool phase_reduces_rows(const MwPrinter *p, int phase)
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->phases.runs[phase][i] && mw_instr_reduces_row(&p->nest->instrs.at[i]))
            return true;
    return false;
}

static void print_lanes_begin(MwPrinter *p, int phase)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!p->phases.runs[phase][i] || !mw_instr_reduces_row(instr))
            continue;
        mw_print_line(p, "%s l%d[%d];", mw_print_scalar_type(instr->type), i, LANES);
        mw_print_line(p, "for (int l = 0; l < %d; l++)", LANES);
        mw_print_line(p, "    l%d[l] = %s;", i, mw_print_first_value(instr));
    }
}

static void print_lanes_end(MwPrinter *p, int phase)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!p->phases.runs[phase][i] || !mw_instr_reduces_row(instr))
            continue;
        const char *suffix = instr->type == MW_SCALAR_F32 ? "f32" : "i32";
        if (mw_instr_is_max(instr))
            mw_print_line(p, "w%d = mw_max(w%d, mw_fold_max_%s(l%d));", i, i, suffix, i);
        else
            mw_print_line(p, "w%d += mw_fold_sum_%s(l%d);", i, suffix, i);
    }
}

/* Columns of the innermost dimension from `base` on, in lanes, which are folded after: `whole` of them,
 * a multiple of LANES, then `rest`, fewer than LANES; NULL: none. */
static void print_lanes(MwPrinter *p, int phase, const char *base, const char *whole,
                        const char *rest)
{
    print_lanes_begin(p, phase);
    if (whole) {
        mw_print_open(p, "for (int64_t j = 0; j < %s; j += %d)", whole, LANES);
        mw_print_open(p, "for (int l = 0; l < %d; l++)", LANES);
        mw_print_line(p, "const int64_t i%d = %sj + l;", mw_print_inner_dim(p), base);
        print_points(p, phase);
        mw_print_close(p);
        mw_print_close(p);
    }
    if (rest) {
        mw_print_open(p, "for (int l = 0; l < %s; l++)", rest);
        mw_print_line(p, "const int64_t i%d = %s%s + l;", mw_print_inner_dim(p), base,
                      whole ? whole : "0");
        print_points(p, phase);
        mw_print_close(p);
    }
    print_lanes_end(p, phase);
}

static const char *count_text(const MwPrinter *p, int64_t count)
{
    return count ? mw_arena_printf(p->out->arena, "%lld", (long long)count) : NULL;
}

/* The innermost column dimension where a row is reduced: in blocks, the rest as a block of its own.
 */
static void print_reduced_columns(MwPrinter *p, int phase)
{
    int64_t size = p->nest->space.size[mw_print_inner_dim(p)];
    int64_t blocks = size > BLOCK ? size / BLOCK * BLOCK : 0, left = size - blocks;
    if (blocks) {
        mw_print_open(p, "for (int64_t b = 0; b < %lld; b += %d)", (long long)blocks, BLOCK);
        print_lanes(p, phase, "b + ", count_text(p, BLOCK), NULL);
        mw_print_close(p);
    }
    if (left) {
        const char *base =
            blocks ? mw_arena_printf(p->out->arena, "%lld + ", (long long)blocks) : "";
        mw_print_open_scope(p);
        print_lanes(p, phase, base, count_text(p, left / LANES * LANES),
                    count_text(p, left % LANES));
        mw_print_close(p);
    }
}

/* The same in the same order, for any number of columns. */
static void print_flat_columns(MwPrinter *p, int phase)
{
    const char *size = mw_print_size(p, mw_print_inner_dim(p));
    mw_print_open(p, "for (int64_t b = 0; b < %s; b += %d)", size, BLOCK);
    mw_print_line(p, "const int64_t left = mw_min(%s - b, (int64_t)%d);", size, BLOCK);
    mw_print_line(p, "const int64_t whole = left / %d * %d;", LANES, LANES);
    print_lanes(p, phase, "b + ", "whole", "left - whole");
    mw_print_close(p);
}

static void print_inner_columns(MwPrinter *p, int phase)
{
    int d = mw_print_inner_dim(p);
    if (phase_reduces_rows(p, phase)) {
        if (p->kernel->is_flat)
            print_flat_columns(p, phase);
        else
            print_reduced_columns(p, phase);
        return;
    }
    if (p->tile)
        mw_print_open(p, "for (int64_t i%d = tile; i%d < tile_end; i%d++)", d, d, d);
    else
        mw_print_open_dim(p, d);
    print_points(p, phase);
    mw_print_close(p);
}

void mw_c_print_columns(MwPrinter *p, int phase)
{
    if (!has_column_dims(p)) {
        mw_print_open_scope(p);
        print_points(p, phase);
        mw_print_close(p);
        return;
    }
    int outer = p->tile ? mw_print_inner_dim(p) : p->nest->space.row_dims;
    for (int d = outer; d < mw_print_inner_dim(p); d++)
        mw_print_open_dim(p, d);
    print_inner_columns(p, phase);
    for (int d = outer; d < mw_print_inner_dim(p); d++)
        mw_print_close(p);
}
