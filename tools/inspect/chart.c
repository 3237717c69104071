/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/chart.h"

#include "tools/inspect/html_page.h"

void mw_chart_label(MwText *out, double x, double y, const char *anchor, const char *text)
{
    mw_text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    mw_html_escaped(out, text);
    mw_text_add(out, "</text>\n");
}

void mw_chart_line(MwText *out, const char *kind, const double from[2], const double to[2])
{
    mw_text_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                   kind, from[0], from[1], to[0], to[1]);
}
