/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/trace/print.h"

#include "base/quantity.h"
#include "tools/json.h"
#include "tools/text_table.h"

#include <math.h>

/* ---- Text ---- */

static const char *ratio_text(MwArena *arena, const MwTraceRow *row)
{
    const double ratio = row->measured_s / row->predicted_s;
    if (!(row->predicted_s > 0))
        return "";
    return mw_arena_printf(arena, ratio < 1000 ? "x %.3g" : "x %.0f", ratio);
}

static void add_row(const MwTraceReport *report, MwTextTable *table, const MwTraceRow *row)
{
    MwArena *arena = table->arena;
    const char **cells = mw_text_table_row(table);
    const double step_s = report->mesh_step_s[row->mesh];
    cells[0] =
        row->count > 1 ? mw_arena_printf(arena, "%s (x%d)", row->name, row->count) : row->name;
    cells[1] = mw_arena_printf(arena, "%d", row->mesh);
    cells[2] = mw_seconds_text(arena, row->predicted_s);
    cells[3] = mw_seconds_text(arena, row->measured_s);
    cells[4] = mw_seconds_difference_text(arena, row->measured_s - row->predicted_s);
    cells[5] = ratio_text(arena, row);
    cells[6] = step_s > 0 ? mw_arena_printf(arena, "%.1f %%", 100 * row->measured_s / step_s) : "";
    cells[7] = row->source;
}

static void print_rows(MwText *text, const MwTraceReport *report, const char *title,
                       const MwTraceRows *rows, int most)
{
    const char *const headings[] = {title,        "mesh",  "predicted", "measured",
                                    "difference", "ratio", "of step",   ""};
    MwTextTable table = mw_text_table_new(text->arena, headings, MW_COUNT(headings));
    const int shown = (int)mw_min(rows->count, most);
    for (int r = 0; r < shown; r++)
        add_row(report, &table, &rows->at[r]);
    mw_text_add(text, "\n");
    mw_text_table_print(text, &table);
    if (shown < rows->count)
        mw_text_printf(text, "  and %d more\n", rows->count - shown);
}

void mw_trace_print_text(MwText *text, const MwTraceReport *report, int most)
{
    MwArena *arena = text->arena;
    const int64_t first = report->run->first_step;
    mw_text_printf(text, "model %s: %d step%s, from %lld to %lld, of %d of %d ranks\n",
                   report->plan->model, report->step_count, report->step_count == 1 ? "" : "s",
                   (long long)first + report->steps[0],
                   (long long)first + report->steps[report->step_count - 1], report->run->ranks,
                   report->plan->rank_count);
    mw_text_printf(text, "step: predicted %s, measured %s",
                   mw_seconds_text(arena, report->step.predicted_s),
                   mw_seconds_text(arena, report->step.measured_s));
    mw_text_printf(text, "%s%s\n", report->step.predicted_s > 0 ? ", " : "",
                   ratio_text(arena, &report->step));
    print_rows(text, report, "work", &report->kinds, report->kinds.count);
    print_rows(text, report, "layer", &report->layers, most);
    print_rows(text, report, "operator", &report->operators, most);
}

/* ---- JSON ---- */

static void put_rows(MwJson *json, const char *key, const MwTraceRows *rows)
{
    mw_json_field_array(json, key);
    for (int r = 0; r < rows->count; r++) {
        const MwTraceRow *row = &rows->at[r];
        yajl_gen_map_open(json->gen);
        mw_json_field_string(json, "name", row->name);
        mw_json_field_int(json, "mesh", row->mesh);
        mw_json_field_int(json, "instructions", row->count);
        mw_json_field_double(json, "predicted_s", row->predicted_s);
        mw_json_field_double(json, "measured_s", row->measured_s);
        mw_json_field_string(json, "source", row->source);
        yajl_gen_map_close(json->gen);
    }
    yajl_gen_array_close(json->gen);
}

void mw_trace_print_json(MwText *text, const MwTraceReport *report)
{
    MwJson json = mw_json_begin(text->arena);
    mw_json_field_string(&json, "model", report->plan->model);
    mw_json_field_int(&json, "ranks", report->run->ranks);
    mw_json_field_int(&json, "steps", report->step_count);
    mw_json_field_double(&json, "predicted_s", report->step.predicted_s);
    mw_json_field_double(&json, "measured_s", report->step.measured_s);
    mw_json_field_array(&json, "mesh_measured_s");
    for (int m = 0; m < report->plan->mesh_count; m++) {
        MwText digits = {.arena = text->arena};
        mw_text_add_double(&digits, report->mesh_step_s[m]);
        yajl_gen_number(json.gen, digits.at, digits.bytes);
    }
    yajl_gen_array_close(json.gen);
    put_rows(&json, "work", &report->kinds);
    put_rows(&json, "layers", &report->layers);
    put_rows(&json, "operators", &report->operators);
    mw_json_end(&json, text);
}
