/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of a table that say what a plan gives, after those that say what it is of. */
#ifndef MW_TOOLS_WHAT_IF_COLUMNS_H
#define MW_TOOLS_WHAT_IF_COLUMNS_H

#include "tools/what_if/table.h"
#include "tools/what_if/variant.h"

/* Adds the columns; the labels are those that the table has already. */
void mw_what_if_columns(MwWhatIfTable *table);
/* Fills in their cells, or the error. */
void mw_what_if_columns_fill(const MwWhatIfTable *table, MwWhatIfRow *row,
                             const MwVariantResult *result);

/* Adds a chart of the column with that key by a label. `tick` gives the texts of its axis. */
void mw_what_if_columns_chart(MwWhatIfTable *table, int label, const char *key,
                              const char *(*tick)(MwArena *arena, double y));

#endif
