/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the printers share: lines and blocks of C, templates, and single instructions of a nest as
 * C.
 *
 * Names in the printed text; each is followed by the number of its operand, argument, dimension or
 * instruction:
 *
 *     p   an operand                     a   an argument
 *     i   the index of a dimension       v   the value of an instruction
 *     k   values that are kept of a row from one walk over its columns to the next
 *     l   the lanes of a row reduction   w   the reduction in a wider type
 *     c   a sum over some rows           s   a sum over all rows
 *     t   a sum over all points */
#ifndef MW_CODEGEN_PRINT_VALUES_H
#define MW_CODEGEN_PRINT_VALUES_H

#include "base/text.h"
#include "codegen/kernel/phases.h"

typedef struct {
    MwText *out;
    const MwKernelDef *kernel;
    const MwNest *nest;
    MwPhases phases;
    bool has_column_sums; /* COLUMN_SUM or COLUMN_MAX */
    int64_t tile;         /* columns of the innermost dimension that are walked at a time; 0: all */
    int indent;           /* of the next line: levels of 4 blanks */
    /* [instrs] Loads and stores that move several elements at once, through the arrays x and y;
     * NULL: there are none. */
    const bool *is_wide;
    /* [instrs] Elements between the rows of the array b in shared memory that a load goes through;
     * 0: the load is from its operand. NULL: all are. */
    const int *tile_pitch;
    const char *lane; /* index of the element of x that is at hand: "[q]" */
} MwPrinter;

/* ---- Lines, blocks, templates ---- */

void mw_print_line(MwPrinter *p, const char *format, ...) MW_PRINTF(2, 3);
/* Prints a line that opens a block; adds " {". */
void mw_print_open(MwPrinter *p, const char *format, ...) MW_PRINTF(2, 3);
void mw_print_open_scope(MwPrinter *p);
/* Opens the loop over dimension d. */
void mw_print_open_dim(MwPrinter *p, int d);
void mw_print_close(MwPrinter *p);
/* Closes blocks until lines begin at `indent` again. */
void mw_print_close_to(MwPrinter *p, int indent);

/* A named hole of a template, and the text that fills it. */
typedef struct {
    const char *name, *text;
} MwHole;

/* Two arguments: an array of holes, and their number. */
#define MW_HOLES(...) (const MwHole[]){__VA_ARGS__}, MW_COUNT(((const MwHole[]){__VA_ARGS__}))

/* Prints the lines of a template, each at the printer's indentation. "$name" or "${name}" is a
 * hole: the name is as many small letters and underscores as there are, and is among the holes
 * given. Blocks that the template opens and does not close stay open: what is printed next is
 * inside. It may close blocks that were open before. */
void mw_print_text(MwPrinter *p, const char *text, const MwHole *holes, int count);
/* "42", in the arena of the text. */
const char *mw_print_number(const MwPrinter *p, int64_t number);

/* ---- Types ---- */

const char *mw_print_storage_type(MwType type);
const char *mw_print_scalar_type(MwScalar type);
/* Returns the type in which parts of a sum are added up. */
const char *mw_print_wide_type(MwScalar type);
/* Returns the text of the value that a reduction starts from. */
const char *mw_print_first_value(const MwKernelInstr *instr);

/* ---- Indices and places ---- */

int mw_print_inner_dim(const MwPrinter *p);
/* Returns the text of the size of dimension d of the nest: a number, or the last argument of a flat
 * kernel. */
const char *mw_print_size(const MwPrinter *p, int d);
/* Returns an affine function as text: "128 + a0 + i0 * 384 + i1". */
const char *mw_print_affine(const MwPrinter *p, const MwAffine *at);
/* Returns the text of the element that a load, store or add accesses: "p0[...]". */
const char *mw_print_place(const MwPrinter *p, const MwKernelInstr *instr);

/* ---- Instructions ---- */

/* Prints value i: "const float v7 = ...;". */
void mw_print_value(MwPrinter *p, int i);
/* Prints a step of a reduction: "l7[l] += v6;", or the line for a maximum. `place` is the variable
 * in which the reduction gathers. */
void mw_print_into(MwPrinter *p, const MwKernelInstr *instr, const char *place);
/* Prints the condition of an effect that another value moves, and indents what comes next. False:
 * the effect has none. */
bool mw_print_guard(MwPrinter *p, const MwKernelInstr *effect);
/* Prints instruction i if it is a value and `effects` is false, or an effect and `effects` is
 * true: effects come after all values of their level, because one may write where a value is
 * loaded from. */
void mw_print_simple(MwPrinter *p, int i, bool effects);
/* Prints the values and effects of a level that has no phases. */
void mw_print_level(MwPrinter *p, MwLevel level);

#endif
