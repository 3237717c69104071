/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of text in aligned columns. */
#ifndef MW_TOOLS_TEXT_TABLE_H
#define MW_TOOLS_TEXT_TABLE_H

#include "base/text.h"
#include "base/vec.h"

enum { MW_TEXT_TABLE_MAX_COLUMNS = 24 };

typedef struct {
    const char *cells[MW_TEXT_TABLE_MAX_COLUMNS]; /* none is NULL */
    int count;                                    /* how many rows were folded into this one */
} MwTextTableRow;

typedef struct {
    MwArena *arena;
    int columns;
    MW_VEC(MwTextTableRow) rows; /* row 0 is the heading */
} MwTextTable;

MwTextTable mw_text_table_new(MwArena *arena, const char *const *headings, int columns);
/* Adds a row of empty cells, for the caller to fill in. Valid until the next row. */
const char **mw_text_table_row(MwTextTable *table);
/* Folds rows that are equal but for the number of their layer into the first of them:
 * "layers.*.mlp.w1 (x4)". The number is the first element of digits in the dotted name of column
 * 0. */
void mw_text_table_fold(MwTextTable *table);
/* `name`, in `arena` where it changes, with "*" for its first element of digits alone that is not
 * the first of all. */
const char *mw_text_folded_name(MwArena *arena, const char *name);
/* Makes its lines at most `columns` bytes long: cuts the longest cells, and leaves out the last
 * columns where that would leave too little of them. Returns the headings of these, in the arena of
 * the table: "operands, runner-up"; "" if there are none. */
const char *mw_text_table_fit(MwTextTable *table, int columns);
void mw_text_table_print(MwText *text, const MwTextTable *table);

#endif
