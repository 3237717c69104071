/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loops over the columns of a row, in C: one for each phase. */
#ifndef MW_CODEGEN_PRINT_C_COLUMNS_H
#define MW_CODEGEN_PRINT_C_COLUMNS_H

#include "codegen/print/values.h"

/* The column's index within the row, or within the tile. */
const char *mw_c_column_index(const MwPrinter *p);
/* What the columns of a row do in a phase. */
void mw_c_print_columns(MwPrinter *p, int phase);

#endif
