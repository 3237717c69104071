/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/diff/differences.h"
#include "tools/json.h"
#include "tools/text_table.h"

#include <math.h>

/* ---- Text ---- */

/* "x 1.25": how often a goes into b. Where both would read alike it has the digits that differ. */
static const char *ratio_text(MwArena *arena, const MwDifference *difference)
{
    const double ratio = difference->b_number / difference->a_number;
    if (!difference->has_numbers || !isfinite(ratio))
        return "";
    return mw_arena_printf(arena, fabs(ratio - 1) < 0.001 ? "x %.9g" : "x %.4g", ratio);
}

static void print_section(MwText *text, const MwDifferences *differences, MwDiffSection section,
                          bool all)
{
    const char *const headings[] = {mw_diff_section_name(section), "", "A", "B", ""};
    MwTextTable table = mw_text_table_new(text->arena, headings, MW_COUNT(headings));
    for (int i = 0; i < differences->all.count; i++) {
        const MwDifference *difference = &differences->all.at[i];
        if (difference->section != section)
            continue;
        const char **cells = mw_text_table_row(&table);
        cells[0] = difference->name;
        cells[1] = difference->what;
        cells[2] = difference->a ? difference->a : "-";
        cells[3] = difference->b ? difference->b : "-";
        cells[4] = ratio_text(text->arena, difference);
    }
    if (table.rows.count == 1)
        return;
    if (!all)
        mw_text_table_fold(&table);
    mw_text_add(text, text->bytes ? "\n" : "");
    mw_text_table_print(text, &table);
}

void mw_diff_print_text(MwText *text, const MwDifferences *differences, bool all)
{
    mw_text_add(text, "");
    for (int s = 0; s < MW_DIFF_SECTION_COUNT; s++)
        print_section(text, differences, (MwDiffSection)s, all);
}

/* ---- JSON ---- */

static void put_value(MwJson *json, const char *key, const MwDifference *difference, bool is_b)
{
    const char *value = is_b ? difference->b : difference->a;
    if (difference->has_numbers)
        mw_json_field_double(json, key, is_b ? difference->b_number : difference->a_number);
    else if (value)
        mw_json_field_string(json, key, value);
    else
        mw_json_field_raw(json, key, "null");
}

void mw_diff_print_json(MwText *text, const MwDifferences *differences, const char *const paths[2])
{
    MwJson json = mw_json_begin(text->arena);
    mw_json_field_string(&json, "a", paths[0]);
    mw_json_field_string(&json, "b", paths[1]);
    mw_json_field_bool(&json, "equal", differences->all.count == 0);
    mw_json_field_array(&json, "differences");
    for (int i = 0; i < differences->all.count; i++) {
        const MwDifference *difference = &differences->all.at[i];
        yajl_gen_map_open(json.gen);
        mw_json_field_string(&json, "section", mw_diff_section_name(difference->section));
        mw_json_field_string(&json, "name", difference->name);
        mw_json_field_string(&json, "what", difference->what);
        put_value(&json, "a", difference, false);
        put_value(&json, "b", difference, true);
        yajl_gen_map_close(json.gen);
    }
    yajl_gen_array_close(json.gen);
    mw_json_end(&json, text);
}
