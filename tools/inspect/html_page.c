/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/html_page.h"

#include "base/quantity.h"

void mw_html_escaped(MwText *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            mw_text_add(out, "&lt;");
            break;
        case '>':
            mw_text_add(out, "&gt;");
            break;
        case '&':
            mw_text_add(out, "&amp;");
            break;
        default:
            mw_text_add_n(out, text, 1);
        }
    }
}

void mw_html_cell(MwText *out, const char *text)
{
    mw_text_add(out, "<td>");
    mw_html_escaped(out, text);
    mw_text_add(out, "</td>");
}

void mw_html_quantity(MwText *out, double value, const char *text)
{
    mw_text_add(out, "<td class=\"n\" data-v=\"");
    mw_text_add_double(out, value);
    mw_text_printf(out, "\">%s</td>", text);
}

void mw_html_int(MwText *out, int value)
{
    mw_html_quantity(out, value, mw_arena_printf(out->arena, "%d", value));
}

void mw_html_seconds(MwText *out, double seconds)
{
    mw_html_quantity(out, seconds, mw_seconds_text(out->arena, seconds));
}

void mw_html_bytes(MwText *out, int64_t bytes)
{
    mw_html_quantity(out, (double)bytes, mw_bytes_text(out->arena, (double)bytes));
}

void mw_html_table(MwText *out, const char *title, const char *const *headings, int count)
{
    mw_text_printf(out, "<h2>%s</h2>\n<table><thead><tr>", title);
    for (int i = 0; i < count; i++)
        mw_text_printf(out, "<th>%s</th>", headings[i]);
    mw_text_add(out, "</tr></thead><tbody>\n");
}

void mw_html_table_end(MwText *out)
{
    mw_text_add(out, "</tbody></table>\n");
}
