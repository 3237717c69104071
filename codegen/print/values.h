/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the printers share: lines of C, and single instructions of a nest as C. */
#ifndef MW_CODEGEN_PRINT_VALUES_H
#define MW_CODEGEN_PRINT_VALUES_H

#include "base/text.h"
#include "codegen/kernel/phases.h"

/* Names in the text: p operands, a arguments, i indices of dimensions, v values; of a reduction l
 * its lanes, w the wide sum of a row, c the sum of some rows, s that of all, t the total; k values
 * kept for a row; each with the number of its operand, argument, dimension or instruction. */
typedef struct {
    MwText *out;
    const MwKernelDef *kernel;
    const MwNest *nest;
    MwPhases phases;
    bool has_column_sums; /* COLUMN_SUM or COLUMN_MAX */
    int64_t tile;         /* columns at a time of the innermost dimension; 0: all */
    int indent;
    /* [instrs] Loads and stores of several elements at once, which go by arrays x and y; NULL: there
     * are none. */
    const bool *is_wide;
    /* [instrs] Of loads that go by an array b: elements from one of its rows, y, to the next;
     * of others 0; NULL: there are none. */
    const int *tile_pitch;
    const char *lane; /* which one of x is at hand: "[q]"; of y it is [q] */
} MwPrinter;

void mw_print_line(MwPrinter *p, const char *format, ...) MW_PRINTF(2, 3);
/* A line that opens a block, " {" added; or "{" alone. */
void mw_print_open(MwPrinter *p, const char *format, ...) MW_PRINTF(2, 3);
void mw_print_open_scope(MwPrinter *p);
/* The loop over dimension d. */
void mw_print_open_dim(MwPrinter *p, int d);
void mw_print_close(MwPrinter *p);

const char *mw_print_storage_type(MwType type);
const char *mw_print_scalar_type(MwScalar type);
/* Sums run in the type itself and add up in a wider one. */
const char *mw_print_wide_type(MwScalar type);
/* What a reduction starts from. */
const char *mw_print_first_value(const MwKernelInstr *instr);

/* How many points dimension d of the nest has: a number, or of a flat kernel its argument. */
const char *mw_print_size(const MwPrinter *p, int d);
/* "128 + a0 + i0 * 384 + i1" */
const char *mw_print_affine(const MwPrinter *p, const MwAffine *at);
/* The element that a load, store or add is about: "p0[...]". */
const char *mw_print_place(const MwPrinter *p, const MwKernelInstr *instr);

/* "const float v7 = ...;" */
void mw_print_value(MwPrinter *p, int i);
/* "l7[l] += v6;" or the same for a maximum, `place` being what the reduction gathers in. */
void mw_print_into(MwPrinter *p, const MwKernelInstr *instr, const char *place);
/* A value, or an effect where it is the turn of effects: they come after all values of their level,
 * because one may write where a value is loaded from. */
void mw_print_simple(MwPrinter *p, int i, bool effects);
/* Values and effects of a level that has no phases. */
void mw_print_level(MwPrinter *p, MwLevel level);

int mw_print_inner_dim(const MwPrinter *p);

#endif
