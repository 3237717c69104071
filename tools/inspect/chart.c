/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/chart.h"

#include "tools/inspect/html_page.h"

void mw_chart_begin(MwText *out, const char *kind, int height)
{
    mw_text_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart %s\" width=\"%d\" "
                   "height=\"%d\" viewBox=\"0 0 %d %d\">\n",
                   kind, MW_CHART_WIDTH, height, MW_CHART_WIDTH, height);
}

void mw_chart_end(MwText *out)
{
    mw_text_add(out, "</svg>\n");
}

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
