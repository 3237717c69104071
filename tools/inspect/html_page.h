/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of the pages of `--format html`. */
#ifndef MW_TOOLS_INSPECT_HTML_PAGE_H
#define MW_TOOLS_INSPECT_HTML_PAGE_H

#include "base/text.h"

/* Adds `text` with the characters that HTML reserves escaped. */
void mw_html_escaped(MwText *out, const char *text);

/* What a page begins with, its title among it, and ends with: a script that sorts its tables. */
void mw_html_begin(MwText *out, const char *title);
void mw_html_end(MwText *out);

/* A table with its title and headings; rows are to follow, then its end. */
void mw_html_table(MwText *out, const char *title, const char *const *headings, int count);
void mw_html_table_end(MwText *out);

/* Cells of the row that is open: a text; a number by which its column is sorted, shown as
 * `text`. */
void mw_html_cell(MwText *out, const char *text);
void mw_html_quantity(MwText *out, double value, const char *text);
void mw_html_int(MwText *out, int value);
void mw_html_seconds(MwText *out, double seconds);
void mw_html_bytes(MwText *out, int64_t bytes);

#endif
