/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The charts of a table of plans, as SVG. */
#ifndef MW_TOOLS_WHAT_IF_CHART_H
#define MW_TOOLS_WHAT_IF_CHART_H

#include "tools/what_if/table.h"

/* One chart, for a page that has the style of html_page.h. */
void mw_what_if_chart(MwText *out, const MwWhatIfTable *table, const MwWhatIfChart *chart);

/* The first chart as a file of its own. */
void mw_what_if_chart_file(MwText *out, const MwWhatIfTable *table);

#endif
