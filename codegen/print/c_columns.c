/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/c_columns.h"

#include "codegen/kernel/sums.h"

enum { LANES = MW_SUM_LANES, BLOCK = MW_SUM_BLOCK };

static bool has_column_dims(const MwPrinter *p)
{
    return p->nest->space.dim_count > p->nest->space.row_dims;
}

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

void mw_c_open_column_dim(MwPrinter *p, int d)
{
    if (p->tile && d == mw_print_inner_dim(p))
        mw_print_open(p, "for (int64_t i%d = tile; i%d < tile_end; i%d++)", d, d, d);
    else
        mw_print_open_dim(p, d);
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

/* Prints the instructions of the points of a phase; effects come last, as in all printers. */
static void print_points(MwPrinter *p, int phase)
{
    for (int effects = 0; effects < 2; effects++)
        for (int i = 0; i < p->nest->instrs.count; i++)
            if (p->phases.runs[phase][i] && mw_instr_is_effect(&p->nest->instrs.at[i]) == effects)
                print_point(p, phase, i);
}

static bool is_reduced_in(const MwPrinter *p, int phase, int i)
{
    return p->phases.runs[phase][i] && mw_instr_reduces_row(&p->nest->instrs.at[i]);
}

static bool phase_reduces_rows(const MwPrinter *p, int phase)
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (is_reduced_in(p, phase, i))
            return true;
    return false;
}

static void print_lanes_begin(MwPrinter *p, int phase)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (is_reduced_in(p, phase, i))
            mw_print_text(p,
                          "$type l$i[$lanes];\n"
                          "for (int l = 0; l < $lanes; l++)\n"
                          "    l$i[l] = $first;\n",
                          MW_HOLES({"type", mw_print_scalar_type(instr->type)},
                                   {"i", mw_print_number(p, i)},
                                   {"lanes", mw_print_number(p, LANES)},
                                   {"first", mw_print_first_value(instr)}));
    }
}

static void print_lanes_end(MwPrinter *p, int phase)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!is_reduced_in(p, phase, i))
            continue;
        const char *suffix = mw_scalar_name(instr->type);
        if (mw_instr_is_max(instr))
            mw_print_line(p, "w%d = mw_max(w%d, mw_fold_max_%s(l%d));", i, i, suffix, i);
        else
            mw_print_line(p, "w%d += mw_fold_sum_%s(l%d);", i, suffix, i);
    }
}

/* Prints loops over columns of the innermost dimension, from `base` ("b + ", or "") on. Reductions
 * gather in lanes, which are combined after the loops. `whole` is a number of columns that is a
 * multiple of LANES, `rest` one less than LANES; NULL: no such columns. */
static void print_lanes(MwPrinter *p, int phase, const char *base, const char *whole,
                        const char *rest)
{
    const char *inner = mw_print_number(p, mw_print_inner_dim(p));
    const char *lanes = mw_print_number(p, LANES);
    const int indent = p->indent;
    print_lanes_begin(p, phase);
    if (whole) {
        mw_print_text(
            p,
            "for (int64_t j = 0; j < $whole; j += $lanes) {\n"
            "    for (int l = 0; l < $lanes; l++) {\n"
            "        const int64_t i$inner = ${base}j + l;\n",
            MW_HOLES({"whole", whole}, {"lanes", lanes}, {"inner", inner}, {"base", base}));
        print_points(p, phase);
        mw_print_close_to(p, indent);
    }
    if (rest) {
        mw_print_text(p,
                      "for (int l = 0; l < $rest; l++) {\n"
                      "    const int64_t i$inner = $base$begin + l;\n",
                      MW_HOLES({"rest", rest}, {"inner", inner}, {"base", base},
                               {"begin", whole ? whole : "0"}));
        print_points(p, phase);
        mw_print_close_to(p, indent);
    }
    print_lanes_end(p, phase);
}

static const char *count_text(const MwPrinter *p, int64_t count)
{
    return count ? mw_print_number(p, count) : NULL;
}

/* Prints the loop over the innermost column dimension if a row is reduced: by blocks of BLOCK
 * columns, and one block of the rest. */
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

/* Prints the loop that print_reduced_columns prints, for a flat kernel, whose number of columns is
 * known only when it is called. */
static void print_flat_columns(MwPrinter *p, int phase)
{
    mw_print_text(p,
                  "for (int64_t b = 0; b < $size; b += $block) {\n"
                  "    const int64_t left = mw_min($size - b, (int64_t)$block);\n"
                  "    const int64_t whole = left / $lanes * $lanes;\n",
                  MW_HOLES({"size", mw_print_size(p, mw_print_inner_dim(p))},
                           {"block", mw_print_number(p, BLOCK)},
                           {"lanes", mw_print_number(p, LANES)}));
    print_lanes(p, phase, "b + ", "whole", "left - whole");
    mw_print_close(p);
}

static void print_inner_columns(MwPrinter *p, int phase)
{
    if (!phase_reduces_rows(p, phase)) {
        mw_c_open_column_dim(p, mw_print_inner_dim(p));
        print_points(p, phase);
        mw_print_close(p);
    } else if (p->kernel->is_flat) {
        print_flat_columns(p, phase);
    } else {
        print_reduced_columns(p, phase);
    }
}

void mw_c_print_columns(MwPrinter *p, int phase)
{
    if (!has_column_dims(p)) {
        mw_print_open_scope(p);
        print_points(p, phase);
        mw_print_close(p);
        return;
    }
    const int outer = p->tile ? mw_print_inner_dim(p) : p->nest->space.row_dims;
    const int indent = p->indent;
    for (int d = outer; d < mw_print_inner_dim(p); d++)
        mw_print_open_dim(p, d);
    print_inner_columns(p, phase);
    mw_print_close_to(p, indent);
}
