/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the C printer share. */
#ifndef MW_CODEGEN_PRINT_C_RULES_H
#define MW_CODEGEN_PRINT_C_RULES_H

#include "base/text.h"
#include "codegen/phases.h"

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
} MwCPrinter;

void mw_c_line(MwCPrinter *p, const char *format, ...) MW_PRINTF(2, 3);
/* A line that opens a block, " {" added; or "{" alone. */
void mw_c_open(MwCPrinter *p, const char *format, ...) MW_PRINTF(2, 3);
void mw_c_open_scope(MwCPrinter *p);
/* The loop over dimension d. */
void mw_c_open_dim(MwCPrinter *p, int d);
void mw_c_close(MwCPrinter *p);

const char *mw_c_storage_type(MwType type);
const char *mw_c_scalar_type(MwScalar type);
/* Sums run in the type itself and add up in a wider one. */
const char *mw_c_wide_type(MwScalar type);
/* What a reduction starts from. */
const char *mw_c_first_value(const MwKernelInstr *instr);

/* "const float v7 = ...;" */
void mw_c_print_value(MwCPrinter *p, int i);
/* "l7[l] += v6;" or the same for a maximum, `place` being what the reduction gathers in. */
void mw_c_print_into(MwCPrinter *p, const MwKernelInstr *instr, const char *place);
/* A value, or an effect where it is the turn of effects: they come after all values of their level,
 * because one may write where a value is loaded from. */
void mw_c_print_simple(MwCPrinter *p, int i, bool effects);
/* Values and effects of a level that has no phases. */
void mw_c_print_level(MwCPrinter *p, MwLevel level);

int mw_c_inner_dim(const MwCPrinter *p);
/* The column's index within the row, or within the tile. */
const char *mw_c_column_index(const MwCPrinter *p);
/* What the columns of a row do in a phase. */
void mw_c_print_columns(MwCPrinter *p, int phase);

#endif
