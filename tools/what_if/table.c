/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/table.h"

#include "base/quantity.h"

int mw_what_if_column(MwWhatIfTable *table, const char *key, const char *heading)
{
    MW_ASSERT(table->column_count < MW_WHAT_IF_MOST_COLUMNS);
    table->columns[table->column_count] = (MwWhatIfColumn){key, heading};
    return table->column_count++;
}

MwWhatIfRow *mw_what_if_row(MwWhatIfTable *table)
{
    return mw_vec_add(table->arena, &table->rows);
}

MwWhatIfCell mw_what_if_number(double number, const char *text)
{
    return number > 0 ? (MwWhatIfCell){text, number, true} : (MwWhatIfCell){0};
}

MwWhatIfCell mw_what_if_word(const char *text)
{
    return (MwWhatIfCell){.text = text};
}

MwWhatIfCell mw_what_if_count(MwArena *arena, int count)
{
    return mw_what_if_number(count, mw_arena_printf(arena, "%d", count));
}

MwWhatIfCell mw_what_if_seconds(MwArena *arena, double seconds)
{
    return mw_what_if_number(seconds, mw_seconds_text(arena, seconds));
}

MwWhatIfCell mw_what_if_bytes(MwArena *arena, double bytes)
{
    return mw_what_if_number(bytes, mw_bytes_text(arena, bytes));
}

bool mw_what_if_is_shown(const MwWhatIfTable *table, int column)
{
    for (int r = 0; r < table->rows.count; r++)
        if (table->rows.at[r].cells[column].text)
            return true;
    return false;
}
