/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of charts, as SVG, coloured by the style of the page around them (html_page.h). */
#ifndef MW_TOOLS_INSPECT_CHART_H
#define MW_TOOLS_INSPECT_CHART_H

#include "base/text.h"

/* Lengths in pixels: of a chart, and of what lies around it. */
enum {
    MW_CHART_WIDTH = 960,
    MW_CHART_LEFT = 92,
    MW_CHART_RIGHT = 16,
    MW_CHART_TOP = 12,
    MW_CHART_BOTTOM = 40
};

/* `kind` is a class of its own; `height` is in pixels. */
void mw_chart_begin(MwText *out, const char *kind, int height);
void mw_chart_end(MwText *out);

/* `anchor` is "start", "middle" or "end": what of the text is at x. */
void mw_chart_label(MwText *out, double x, double y, const char *anchor, const char *text);
/* `kind` is the class: "axis", "grid" or "ceiling". */
void mw_chart_line(MwText *out, const char *kind, const double from[2], const double to[2]);

#endif
