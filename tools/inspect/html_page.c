/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/html_page.h"

#include "base/quantity.h"

/* Light and dark, as the browser prefers. The timeline (tools/schedule/svg.c) has colours of its
 * own, which are for light pages. */
static const char page_head[] =
    "<!doctype html>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    ":root { color-scheme: light dark; --ink: #222; --paper: #fff; --stripe: #f4f5f7;\n"
    "  --line: #b8bcc4; --area: #8ab4e8; --mark: #c03a2b; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --ink: #dcdfe4; --paper: #16181c; --stripe: #20242a; --line: #4a505a;\n"
    "    --area: #3f6ea8; --mark: #ff8a75; }\n"
    "  svg:not(.chart) text { fill: var(--ink); } svg:not(.chart) text.l { fill: #222; }\n"
    "  svg:not(.chart) rect { stroke: var(--paper); }\n"
    "  svg:not(.chart) > rect:first-of-type { fill: var(--paper); }\n"
    "  svg:not(.chart) rect.idle { fill: var(--stripe); }\n"
    "}\n"
    "body { font: 14px/1.45 system-ui, sans-serif; margin: 2em; color: var(--ink);\n"
    "  background: var(--paper); }\n"
    "h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; } p { max-width: 70em; }\n"
    "table { border-collapse: collapse; } td, th { padding: 2px 10px; text-align: left; }\n"
    "th { border-bottom: 1px solid var(--line); cursor: pointer; } td.n { text-align: right; }\n"
    "table { display: block; overflow-x: auto; } td { white-space: nowrap; }\n"
    "tr:nth-child(even) { background: var(--stripe); } code { font-size: 13px; }\n"
    ".forward { border-left: 4px solid #6aa0d8; } .backward { border-left: 4px solid #e29a5b; }\n"
    ".update { border-left: 4px solid #7fb66d; }\n"
    ".backward_weight { border-left: 4px solid #d8bd4a; }\n"
    ".bar { display: flex; height: 22px; width: 60em; max-width: 100%; }\n"
    ".bar div { overflow: hidden; white-space: nowrap; font-size: 12px; padding: 2px 4px;\n"
    "  color: #fff; min-width: 2px; box-sizing: border-box; }\n"
    "svg { max-width: 100%; height: auto; }\n"
    "svg.chart text { fill: var(--ink); font: 12px sans-serif; }\n"
    "svg.chart .grid { stroke: var(--line); stroke-width: 0.5; }\n"
    "svg.chart .axis { stroke: var(--ink); }\n"
    "svg.chart .ceiling { stroke: var(--mark); stroke-width: 1.5; }\n"
    "svg.chart .area { fill: var(--area); }\n"
    "svg.chart .point { fill: var(--area); fill-opacity: 0.6; stroke: var(--ink);\n"
    "  stroke-width: 0.5; }\n"
    "</style>\n";

/* Sorts a table by the column whose heading is clicked, by data-v where a cell has one. */
static const char page_script[] =
    "<script>\n"
    "document.querySelectorAll('th').forEach(th => th.onclick = () => {\n"
    "  const rows = [...th.closest('table').tBodies[0].rows], c = th.cellIndex;\n"
    "  const value = row => row.cells[c].dataset.v ?? row.cells[c].textContent;\n"
    "  const up = th.dataset.up = th.dataset.up === '1' ? '' : '1';\n"
    "  rows.sort((a, b) => { const x = value(a), y = value(b), n = x - y;\n"
    "    return (up ? 1 : -1) * (isNaN(n) ? x.localeCompare(y) : n); });\n"
    "  rows.forEach(row => row.parentNode.append(row));\n"
    "});\n</script>\n";

void mw_html_begin(MwText *out, const char *title)
{
    mw_text_add(out, page_head);
    mw_text_add(out, "<title>");
    mw_html_escaped(out, title);
    mw_text_add(out, "</title>\n<h1>");
    mw_html_escaped(out, title);
    mw_text_add(out, "</h1>\n");
}

void mw_html_end(MwText *out)
{
    mw_text_add(out, page_script);
}

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
