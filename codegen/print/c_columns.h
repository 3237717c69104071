/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loops over the columns of a row, in C: one for each phase. */
#ifndef MW_CODEGEN_PRINT_C_COLUMNS_H
#define MW_CODEGEN_PRINT_C_COLUMNS_H

#include "codegen/print/values.h"

/* The index of the column at hand within its row, or within its tile of columns. */
const char *mw_c_column_index(const MwPrinter *p);
/* Opens the loop over column dimension d: over all of it, or, of the innermost one, over a tile. */
void mw_c_open_column_dim(MwPrinter *p, int d);
/* Prints the loops over the columns of a row in a phase. */
void mw_c_print_columns(MwPrinter *p, int phase);

#endif
