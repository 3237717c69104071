/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of plans, of which the first columns say what each is of, and its charts. */
#ifndef MW_TOOLS_WHAT_IF_TABLE_H
#define MW_TOOLS_WHAT_IF_TABLE_H

#include "base/text.h"
#include "base/vec.h"
#include "tools/text_table.h"

enum { MW_WHAT_IF_MOST_COLUMNS = MW_TEXT_TABLE_MAX_COLUMNS - 1 /* and one for remarks */ };

typedef struct {
    const char *text; /* for people; NULL: the cell is empty */
    double number;    /* for programs, in the unit that the key of the column names */
    bool is_number;
} MwWhatIfCell;

typedef struct {
    const char *key; /* "step_s" */
    const char *heading;
} MwWhatIfColumn;

typedef struct {
    MwWhatIfCell cells[MW_WHAT_IF_MOST_COLUMNS];
    const char *error;  /* why there is no plan; NULL: there is one */
    const char *remark; /* what the row is best for; NULL: nothing */
} MwWhatIfRow;

/* The chart of a table: a line for each combination of the labels but one. */
typedef struct {
    int x; /* the label by which points lie from left to right */
    int y; /* column of numbers greater than 0 */
    const char *(*tick)(MwArena *arena, double y);
} MwWhatIfChart;

enum { MW_WHAT_IF_MOST_CHARTS = 2 };

typedef struct {
    MwArena *arena;
    const char *title;
    MwWhatIfColumn columns[MW_WHAT_IF_MOST_COLUMNS];
    int column_count, label_count; /* labels are the first columns */
    MW_VEC(MwWhatIfRow) rows;
    MwWhatIfChart charts[MW_WHAT_IF_MOST_CHARTS];
    int chart_count;
    MW_VEC(const char *) notes; /* sentences below the table */
} MwWhatIfTable;

/* Adds a column and gives its index; adds a row of empty cells, valid until the next. */
int mw_what_if_column(MwWhatIfTable *table, const char *key, const char *heading);
MwWhatIfRow *mw_what_if_row(MwWhatIfTable *table);

/* Cells: a number with the text for people; a word; nothing where the number is not above 0. */
MwWhatIfCell mw_what_if_number(double number, const char *text);
MwWhatIfCell mw_what_if_word(const char *text);
MwWhatIfCell mw_what_if_count(MwArena *arena, int count);
MwWhatIfCell mw_what_if_seconds(MwArena *arena, double seconds);
MwWhatIfCell mw_what_if_bytes(MwArena *arena, double bytes);

/* Whether a cell of the column holds anything. Empty columns are not shown to people. */
bool mw_what_if_is_shown(const MwWhatIfTable *table, int column);

#endif
