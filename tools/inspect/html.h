/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `inspect --format html`. */
#ifndef MW_TOOLS_INSPECT_HTML_H
#define MW_TOOLS_INSPECT_HTML_H

#include "tools/inspect/pipeline.h"

void mw_html_escaped(MwText *out, const char *text);
/* Cells of the row that is open: a text; a number that its column is sorted by. */
void mw_html_cell(MwText *out, const char *text);
void mw_html_quantity(MwText *out, double value, const char *text);
void mw_html_seconds(MwText *out, double seconds);
void mw_html_bytes(MwText *out, int64_t bytes);
/* A title and a table, open, with its head; the end of it. */
void mw_html_table(MwText *out, const char *title, const char *const *headings, int count);
void mw_html_table_end(MwText *out);

/* The stages, what passes between them, the timeline. */
void mw_inspect_html_pipeline(MwText *out, const MwInspectPipeline *pipeline);
/* Nothing where the search rejected nothing. */
void mw_inspect_html_alternatives(MwText *out, const MwPlan *plan);

#endif
