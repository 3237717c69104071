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

void mw_text_table_print(MwText *text, const MwTextTable *table)
{
    int width[MW_TEXT_TABLE_MAX_COLUMNS] = {0};
    for (int r = 0; r < table->rows.count; r++)
        for (int c = 0; c < table->columns; c++)
            width[c] = (int)mw_max(width[c], (int64_t)strlen(table->rows.at[r].cells[c]));
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
