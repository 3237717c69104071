/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A section of `inspect --format text`. */
#ifndef MW_TOOLS_INSPECT_TEXT_SECTION_H
#define MW_TOOLS_INSPECT_TEXT_SECTION_H

#include "tools/text_table.h"

typedef struct {
    bool all;    /* shows every layer; else rows of layers that are alike are folded */
    int columns; /* that lines may have; 0: as many as they need */
} MwInspectView;

/* Adds an empty line, the title, and the table or "none". `folds`: rows of layers that are alike
 * are folded unless the view shows all. */
void mw_inspect_text_section(MwText *text, MwTextTable *table, const char *title, bool folds,
                             MwInspectView view);

#endif
