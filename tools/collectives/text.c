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

/* What the cells of a table show. The last column is that of what plans count with, or of what the
 * executor does. */
typedef struct {
    const char *title, *last;
    const char *(*cell)(MwArena *arena, const MwCollectiveTable *table, const MwCollectiveRow *row,
                        int column);
    /* the column with a star; -1: none */
    int (*marked)(const MwCollectiveTable *table, const MwCollectiveRow *row);
} View;

static void add_view(MwText *text, const MwCollectiveTable *table, const View *view)
{
    MwArena *arena = text->arena;
    const char *headings[MW_TEXT_TABLE_MAX_COLUMNS] = {"bytes"};
    const int count = table->algorithm_count;
    for (int c = 0; c < count; c++)
        headings[1 + c] = heading(arena, table, c);
    headings[1 + count] = view->last;
    MwTextTable cells = mw_text_table_new(arena, headings, 2 + count);
    for (int r = 0; r < table->row_count; r++) {
        const MwCollectiveRow *row = &table->rows[r];
        const int marked = view->marked(table, row);
        const char **at = mw_text_table_row(&cells);
        at[0] = mw_collective_bytes_text(arena, row->bytes);
        for (int c = 0; c <= count; c++)
            at[1 + c] = mw_arena_printf(arena, "%s%s", view->cell(arena, table, row, c),
                                        c == marked ? " *" : "");
    }
    mw_text_printf(text, "\n%s\n", view->title);
    mw_text_table_print(text, &cells);
}

static double predicted_s(const MwCollectiveTable *table, const MwCollectiveRow *row, int column)
{
    return column < table->algorithm_count ? row->time_s[column] : row->choice.time_s;
}

/* ", ring" in the last column, which says what plans count with. */
static const char *with_choice(MwArena *arena, const MwCollectiveTable *table,
                               const MwCollectiveRow *row, int column, const char *figure)
{
    return column < table->algorithm_count
               ? figure
               : mw_arena_printf(arena, "%s, %s", figure, mw_collective_choice_name(&row->choice));
}

static const char *time_cell(MwArena *arena, const MwCollectiveTable *table,
                             const MwCollectiveRow *row, int column)
{
    return with_choice(arena, table, row, column,
                       mw_seconds_text(arena, predicted_s(table, row, column)));
}

static const char *bandwidth_cell(MwArena *arena, const MwCollectiveTable *table,
                                  const MwCollectiveRow *row, int column)
{
    const double bandwidth =
        mw_collective_table_bandwidth(table, row, predicted_s(table, row, column));
    return with_choice(arena, table, row, column, mw_arena_printf(arena, "%.3g", bandwidth / 1e9));
}

static const char *measured_cell(MwArena *arena, const MwCollectiveTable *table,
                                 const MwCollectiveRow *row, int column)
{
    (void)table;
    return mw_seconds_text(arena, row->measured_s[column]);
}

static const char *ratio_cell(MwArena *arena, const MwCollectiveTable *table,
                              const MwCollectiveRow *row, int column)
{
    return mw_arena_printf(arena, "%.2f",
                           row->measured_s[column] / predicted_s(table, row, column));
}

static const View predicted[] = {
    {"time", "in plans", time_cell, mw_collective_table_chosen},
    {"bus bandwidth in GB/s", "in plans", bandwidth_cell, mw_collective_table_chosen},
};
static const View measured[] = {
    {"measured time", "executor", measured_cell, mw_collective_table_fastest},
    {"measured time / time; of the executor, / time in plans", "executor", ratio_cell,
     mw_collective_table_fastest},
};

static void add_legend(MwText *text, const MwCollectiveTable *table)
{
    const char *library =
        mw_backend_named(table->model->cluster->backend)->uses_nccl ? "NCCL" : "MPI";
    mw_text_printf(text,
                   "\n* what plans count with; \"measured\": a curve of the cluster file takes the "
                   "place of the formulas\n%s",
                   table->is_measured ? "* among measured times: the fastest algorithm\n" : "");
    for (int c = 0; c < table->algorithm_count; c++)
        mw_text_printf(text, "%s: %s%s%s\n", mw_algorithm_name(table->algorithms[c]),
                       mw_algorithm_what(table->algorithms[c]),
                       table->is_choice[c] ? "" : "; not among the choices of ",
                       table->is_choice[c] ? "" : library);
}

void mw_collective_table_text(MwText *text, const MwCollectiveTable *table)
{
    mw_collective_table_title(text, table);
    mw_text_add(text, "\n");
    for (int v = 0; v < MW_COUNT(predicted); v++)
        add_view(text, table, &predicted[v]);
    for (int v = 0; v < MW_COUNT(measured) && table->is_measured; v++)
        add_view(text, table, &measured[v]);
    add_legend(text, table);
}
