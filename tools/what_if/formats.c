/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/what_if/formats.h"

#include "tools/inspect/html_page.h"
#include "tools/json.h"
#include "tools/what_if/chart.h"

#include <string.h>

/* ---- Text ---- */

/* What the last column says of a row. */
static const char *remark_of(const MwWhatIfRow *row)
{
    return row->error ? row->error : row->remark ? row->remark : "";
}

/* The text that all plans of the table have in a column that is no label; NULL: they differ, there
 * are not two, or a cell is empty. */
static const char *common_text(const MwWhatIfTable *table, int column)
{
    const char *common = NULL;
    int plans = 0;
    for (int r = 0; r < table->rows.count; r++) {
        const MwWhatIfRow *row = &table->rows.at[r];
        const char *text = row->cells[column].text;
        if (row->error)
            continue;
        if (!text || (common && strcmp(common, text) != 0))
            return NULL;
        common = text;
        plans++;
    }
    return column < table->label_count || plans < 2 ? NULL : common;
}

/* "in every plan: devices 16, schedule none" */
static void add_common(MwText *text, const MwWhatIfTable *table)
{
    const char *before = "in every plan: ";
    for (int c = 0; c < table->column_count; c++) {
        const char *common = common_text(table, c);
        if (!common)
            continue;
        mw_text_printf(text, "%s%s %s", before, table->columns[c].heading, common);
        before = ", ";
    }
    mw_text_add(text, *before == ',' ? "\n\n" : "");
}

/* Bytes beyond which what is said of a plan is shortened, so that one of many unlike meshes does
 * not make all rows wide; CSV and JSON have all of it. */
enum { MOST_WIDE = 48 };

/* The text of a cell, or as many whole words of it as there is room for; all of a label. */
static const char *shown_text(MwArena *arena, const MwWhatIfCell *cell, bool is_label)
{
    if (!cell->text || is_label || strlen(cell->text) <= MOST_WIDE)
        return cell->text ? cell->text : "";
    int end = MOST_WIDE;
    while (end > 0 && cell->text[end] != ' ')
        end--;
    return mw_arena_printf(arena, "%.*s ...", end > 0 ? end : MOST_WIDE, cell->text);
}

static void write_text(MwText *text, const MwWhatIfTable *table)
{
    const char *headings[MW_TEXT_TABLE_MAX_COLUMNS];
    int shown[MW_WHAT_IF_MOST_COLUMNS], count = 0;
    for (int c = 0; c < table->column_count; c++) {
        if (!mw_what_if_is_shown(table, c) || common_text(table, c))
            continue;
        headings[count] = table->columns[c].heading;
        shown[count++] = c;
    }
    headings[count] = "";
    MwTextTable lines = mw_text_table_new(text->arena, headings, count + 1);
    for (int r = 0; r < table->rows.count; r++) {
        const MwWhatIfRow *row = &table->rows.at[r];
        const char **cells = mw_text_table_row(&lines);
        for (int i = 0; i < count; i++)
            cells[i] =
                shown_text(text->arena, &row->cells[shown[i]], shown[i] < table->label_count);
        cells[count] = remark_of(row);
    }
    mw_text_printf(text, "%s\n\n", table->title);
    add_common(text, table);
    mw_text_table_print(text, &lines);
    for (int i = 0; i < table->notes.count; i++)
        mw_text_printf(text, "%s%s\n", i ? "" : "\n", table->notes.at[i]);
}

/* ---- JSON ---- */

static void add_json_cells(MwJson *json, const MwWhatIfTable *table, const MwWhatIfRow *row,
                           int first, int end)
{
    for (int c = first; c < end; c++) {
        const MwWhatIfCell *cell = &row->cells[c];
        if (cell->is_number)
            mw_json_field_double(json, table->columns[c].key, cell->number);
        else if (cell->text)
            mw_json_field_string(json, table->columns[c].key, cell->text);
    }
}

/* Labels stand in an object of their own, since a size may be called as a column is. */
static void write_json_row(MwJson *json, const MwWhatIfTable *table, const MwWhatIfRow *row)
{
    yajl_gen_map_open(json->gen);
    mw_json_string(json, "labels");
    yajl_gen_map_open(json->gen);
    add_json_cells(json, table, row, 0, table->label_count);
    yajl_gen_map_close(json->gen);
    add_json_cells(json, table, row, table->label_count, table->column_count);
    if (row->error)
        mw_json_field_string(json, "error", row->error);
    if (row->remark)
        mw_json_field_string(json, "remark", row->remark);
    yajl_gen_map_close(json->gen);
}

static void write_json(MwText *text, const MwWhatIfTable *table)
{
    MwJson json = mw_json_begin(text->arena);
    mw_json_field_string(&json, "title", table->title);
    mw_json_field_array(&json, "labels");
    for (int c = 0; c < table->label_count; c++)
        mw_json_string(&json, table->columns[c].key);
    yajl_gen_array_close(json.gen);
    mw_json_field_array(&json, "rows");
    for (int r = 0; r < table->rows.count; r++)
        write_json_row(&json, table, &table->rows.at[r]);
    yajl_gen_array_close(json.gen);
    mw_json_field_array(&json, "notes");
    for (int i = 0; i < table->notes.count; i++)
        mw_json_string(&json, table->notes.at[i]);
    yajl_gen_array_close(json.gen);
    mw_json_end(&json, text);
}

/* ---- CSV (RFC 4180, lines ending in LF) ---- */

static void add_csv_word(MwText *text, const char *word)
{
    if (!strpbrk(word, ",\"\n")) {
        mw_text_add(text, word);
        return;
    }
    mw_text_add(text, "\"");
    for (; *word; word++)
        mw_text_printf(text, *word == '"' ? "\"%c" : "%c", *word);
    mw_text_add(text, "\"");
}

static void write_csv(MwText *text, const MwWhatIfTable *table)
{
    for (int c = 0; c < table->column_count; c++) {
        add_csv_word(text, table->columns[c].key);
        mw_text_add(text, ",");
    }
    mw_text_add(text, "error,remark\n");
    for (int r = 0; r < table->rows.count; r++) {
        const MwWhatIfRow *row = &table->rows.at[r];
        for (int c = 0; c < table->column_count; c++) {
            if (row->cells[c].is_number)
                mw_text_add_double(text, row->cells[c].number);
            else
                add_csv_word(text, row->cells[c].text ? row->cells[c].text : "");
            mw_text_add(text, ",");
        }
        add_csv_word(text, row->error ? row->error : "");
        mw_text_add(text, ",");
        add_csv_word(text, row->remark ? row->remark : "");
        mw_text_add(text, "\n");
    }
}

/* ---- HTML ---- */

static void write_html_row(MwText *text, const MwWhatIfTable *table, const MwWhatIfRow *row)
{
    mw_text_add(text, "<tr>");
    for (int c = 0; c < table->column_count; c++) {
        const MwWhatIfCell *cell = &row->cells[c];
        if (!mw_what_if_is_shown(table, c))
            continue;
        if (cell->is_number)
            mw_html_quantity(text, cell->number, cell->text);
        else
            mw_html_cell(text, cell->text ? cell->text : "");
    }
    mw_html_cell(text, remark_of(row));
    mw_text_add(text, "</tr>\n");
}

static void write_html(MwText *text, const MwWhatIfTable *table)
{
    const char *headings[MW_TEXT_TABLE_MAX_COLUMNS];
    int count = 0;
    for (int c = 0; c < table->column_count; c++)
        if (mw_what_if_is_shown(table, c))
            headings[count++] = table->columns[c].heading;
    headings[count++] = "";
    mw_html_begin(text, table->title);
    for (int i = 0; i < table->chart_count; i++) {
        mw_text_printf(text, "<h2>%s</h2>\n", table->columns[table->charts[i].y].heading);
        mw_what_if_chart(text, table, &table->charts[i]);
    }
    mw_html_table(text, "plans", headings, count);
    for (int r = 0; r < table->rows.count; r++)
        write_html_row(text, table, &table->rows.at[r]);
    mw_html_table_end(text);
    for (int i = 0; i < table->notes.count; i++) {
        mw_text_add(text, "<p>");
        mw_html_escaped(text, table->notes.at[i]);
        mw_text_add(text, "</p>\n");
    }
    mw_html_end(text);
}

void mw_what_if_write(MwText *text, const MwWhatIfTable *table, MwWhatIfFormat format)
{
    switch (format) {
    case MW_WHAT_IF_TEXT:
        write_text(text, table);
        return;
    case MW_WHAT_IF_JSON:
        write_json(text, table);
        return;
    case MW_WHAT_IF_CSV:
        write_csv(text, table);
        return;
    case MW_WHAT_IF_SVG:
        mw_what_if_chart_file(text, table);
        return;
    case MW_WHAT_IF_HTML:
        write_html(text, table);
        return;
    }
    MW_UNREACHABLE();
}
