/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A section of `inspect --format text`. */
#ifndef MW_TOOLS_INSPECT_TEXT_SECTION_H
#define MW_TOOLS_INSPECT_TEXT_SECTION_H

#include "tools/text_table.h"

/* Adds an empty line, the title, and the table or "none"; rows of repeated layers are folded unless
 * `all`. */
void mw_inspect_text_section(MwText *text, MwTextTable *table, const char *title, bool all);

#endif
