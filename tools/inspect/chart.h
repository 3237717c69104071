/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What charts consist of, as SVG. Positions are in pixels from the upper left corner. */
#ifndef MW_TOOLS_INSPECT_CHART_H
#define MW_TOOLS_INSPECT_CHART_H

#include "base/text.h"

/* `anchor` says what of the text is at the place: start, middle or end. */
void mw_chart_label(MwText *out, double x, double y, const char *anchor, const char *text);
/* A line of the class `kind`. */
void mw_chart_line(MwText *out, const char *kind, const double from[2], const double to[2]);

#endif
