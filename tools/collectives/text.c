/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collectives --format text`: seconds and bus bandwidth by size and algorithm. */
#include "tools/collectives/table.h"

#include "base/backend.h"
#include "base/quantity.h"
#include "tools/text_table.h"

/* In parentheses: the library of the backend does not have it. */
static const char *heading(MwArena *arena, const MwCollectiveTable *table, int column)
{
    const char *name = mw_algorithm_name(table->algorithms[column]);
    return table->is_choice[column] ? name : mw_arena_printf(arena, "(%s)", name);
}

/* A table of one cell for each size and algorithm, and one for what plans count with. */
static void add_cells(MwText *text, const MwCollectiveTable *table,
                      const char *(*cell)(MwArena *arena, const MwCollectiveTable *table,
                                          const MwCollectiveRow *row, double time_s))
{
    MwArena *arena = text->arena;
    const char *headings[MW_TEXT_TABLE_MAX_COLUMNS] = {"bytes"};
    const int count = table->algorithm_count;
    for (int c = 0; c < count; c++)
        headings[1 + c] = heading(arena, table, c);
    headings[1 + count] = "in plans";
    MwTextTable cells = mw_text_table_new(arena, headings, 2 + count);
    for (int r = 0; r < table->row_count; r++) {
        const MwCollectiveRow *row = &table->rows[r];
        const char **at = mw_text_table_row(&cells);
        at[0] = mw_collective_bytes_text(arena, row->bytes);
        for (int c = 0; c < count; c++)
            at[1 + c] = mw_arena_printf(arena, "%s%s", cell(arena, table, row, row->time_s[c]),
                                        mw_collective_table_is_chosen(table, row, c) ? " *" : "");
        at[1 + count] =
            mw_arena_printf(arena, "%s, %s", cell(arena, table, row, row->choice.time_s),
                            mw_collective_choice_name(&row->choice));
    }
    mw_text_table_print(text, &cells);
}

static const char *time_cell(MwArena *arena, const MwCollectiveTable *table,
                             const MwCollectiveRow *row, double time_s)
{
    (void)table, (void)row;
    return mw_seconds_text(arena, time_s);
}

static const char *bandwidth_cell(MwArena *arena, const MwCollectiveTable *table,
                                  const MwCollectiveRow *row, double time_s)
{
    return mw_arena_printf(arena, "%.3g", mw_collective_table_bandwidth(table, row, time_s) / 1e9);
}

static void add_legend(MwText *text, const MwCollectiveTable *table)
{
    const char *library =
        mw_backend_named(table->model->cluster->backend)->uses_nccl ? "NCCL" : "MPI";
    mw_text_printf(text,
                   "\n* what plans count with; \"measured\": a curve of the cluster file takes the "
                   "place of the formulas\n");
    for (int c = 0; c < table->algorithm_count; c++)
        mw_text_printf(text, "%s: %s%s%s\n", mw_algorithm_name(table->algorithms[c]),
                       mw_algorithm_what(table->algorithms[c]),
                       table->is_choice[c] ? "" : "; not among the choices of ",
                       table->is_choice[c] ? "" : library);
}

void mw_collective_table_text(MwText *text, const MwCollectiveTable *table)
{
    mw_collective_table_title(text, table);
    mw_text_add(text, "\n\ntime\n");
    add_cells(text, table, time_cell);
    mw_text_add(text, "\nbus bandwidth in GB/s\n");
    add_cells(text, table, bandwidth_cell);
    add_legend(text, table);
}
