/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/text_table.h"

#include <string.h>

MwTextTable mw_text_table_new(MwArena *arena, const char *const *headings, int columns)
{
    MW_ASSERT(columns <= MW_TEXT_TABLE_MAX_COLUMNS);
    MwTextTable table = {.arena = arena, .columns = columns};
    memcpy(mw_text_table_row(&table), headings, sizeof *headings * (size_t)columns);
    return table;
}

const char **mw_text_table_row(MwTextTable *table)
{
    MwTextTableRow *row = mw_vec_add(table->arena, &table->rows);
    row->count = 1;
    for (int c = 0; c < table->columns; c++)
        row->cells[c] = "";
    return row->cells;
}

const char *mw_text_folded_name(MwArena *arena, const char *name)
{
    for (const char *at = name; *at;) {
        size_t length = strcspn(at, ".");
        if (length && at > name && strspn(at, "0123456789") == length)
            return mw_arena_printf(arena, "%.*s*%s", (int)(at - name), name, at + length);
        at += length + (at[length] == '.');
    }
    return name;
}

static bool same_cells(const MwTextTableRow *a, const MwTextTableRow *b, int columns)
{
    for (int c = 0; c < columns; c++)
        if (strcmp(a->cells[c], b->cells[c]) != 0)
            return false;
    return true;
}

/* Rows that fold into one lie at most one layer's number of rows apart, so the search goes back
 * from the last row that was kept. */
void mw_text_table_fold(MwTextTable *table)
{
    int kept = 1;
    const char **name = MW_NEW(table->arena, const char *, table->rows.count); /* as given */
    for (int r = 1; r < table->rows.count; r++) {
        MwTextTableRow row = table->rows.at[r];
        name[kept] = row.cells[0];
        row.cells[0] = mw_text_folded_name(table->arena, name[kept]);
        MwTextTableRow *same = NULL;
        for (int k = kept - 1; k >= 1 && !same && row.cells[0] != name[kept]; k--)
            if (same_cells(&table->rows.at[k], &row, table->columns))
                same = &table->rows.at[k];
        if (same)
            same->count++;
        else
            table->rows.at[kept++] = row;
    }
    table->rows.count = kept;
    for (int r = 1; r < kept; r++) {
        MwTextTableRow *row = &table->rows.at[r];
        row->cells[0] = row->count == 1
                            ? name[r]
                            : mw_arena_printf(table->arena, "%s (x%d)", row->cells[0], row->count);
    }
}

/* [columns] the bytes of the longest cell. */
static void measure(const MwTextTable *table, int *width)
{
    for (int c = 0; c < table->columns; c++)
        width[c] = 0;
    for (int r = 0; r < table->rows.count; r++)
        for (int c = 0; c < table->columns; c++)
            width[c] = (int)mw_max(width[c], (int64_t)strlen(table->rows.at[r].cells[c]));
}

/* Whether a character of several bytes goes on with `byte`. */
static bool goes_on(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* `cell` in `width` bytes. The end of a name says more than its beginning. */
static const char *cut_cell(MwArena *arena, const char *cell, int width, bool is_name)
{
    int length = (int)strlen(cell), kept = width - 2;
    if (length <= width)
        return cell;
    if (is_name) {
        const char *end = cell + length - kept;
        while (goes_on(*end))
            end++;
        return mw_arena_printf(arena, "..%s", end);
    }
    while (kept > 0 && goes_on(cell[kept]))
        kept--;
    return mw_arena_printf(arena, "%.*s..", kept, cell);
}

/* The bytes that a column keeps where there are too few for all. */
static int least_width(int column, int width)
{
    enum { LEAST_NAME = 28, LEAST_CELL = 12 };
    return (int)mw_min(width, column == 0 ? LEAST_NAME : LEAST_CELL);
}

/* Leaves out the last columns until the others have room. */
static const char *drop_columns(MwTextTable *table, int columns, const int *width)
{
    const int all = table->columns;
    MwText dropped = {.arena = table->arena};
    int least = 0;
    for (int c = 0; c < all; c++)
        least += least_width(c, width[c]) + 2;
    for (; least > columns && table->columns > 2; table->columns--)
        least -= least_width(table->columns - 1, width[table->columns - 1]) + 2;
    mw_text_add(&dropped, "");
    for (int c = table->columns; c < all; c++)
        mw_text_printf(&dropped, "%s%s", c > table->columns ? ", " : "",
                       table->rows.at[0].cells[c]);
    return dropped.at;
}

const char *mw_text_table_fit(MwTextTable *table, int columns)
{
    int width[MW_TEXT_TABLE_MAX_COLUMNS], total = 0;
    measure(table, width);
    const char *dropped = drop_columns(table, columns, width);
    for (int c = 0; c < table->columns; c++)
        total += width[c] + 2;
    for (; total > columns; total--) {
        int most = -1;
        for (int c = 0; c < table->columns; c++)
            if (width[c] > least_width(c, width[c]) && (most < 0 || width[c] > width[most]))
                most = c;
        if (most < 0)
            break;
        width[most]--;
    }
    for (int r = 0; r < table->rows.count; r++)
        for (int c = 0; c < table->columns; c++)
            table->rows.at[r].cells[c] =
                cut_cell(table->arena, table->rows.at[r].cells[c], width[c], r > 0 && c == 0);
    return dropped;
}

void mw_text_table_print(MwText *text, const MwTextTable *table)
{
    int width[MW_TEXT_TABLE_MAX_COLUMNS];
    measure(table, width);
    for (int r = 0; r < table->rows.count; r++) {
        int padding = 2;
        for (int c = 0; c < table->columns; c++) {
            const char *cell = table->rows.at[r].cells[c];
            if (*cell) {
                mw_text_printf(text, "%*s%s", padding, "", cell);
                padding = -(int)strlen(cell);
            }
            padding += width[c] + 2;
        }
        mw_text_add(text, "\n");
    }
}
