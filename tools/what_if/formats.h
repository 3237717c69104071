/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of plans in several formats. */
#ifndef MW_TOOLS_WHAT_IF_FORMATS_H
#define MW_TOOLS_WHAT_IF_FORMATS_H

#include "tools/what_if/table.h"

/* In the order of MwWhatIfFormat. */
#define MW_WHAT_IF_FORMATS "text|json|csv|svg|html"

typedef enum {
    MW_WHAT_IF_TEXT,
    MW_WHAT_IF_JSON,
    MW_WHAT_IF_CSV,
    MW_WHAT_IF_SVG,
    MW_WHAT_IF_HTML
} MwWhatIfFormat;

void mw_what_if_write(MwText *text, const MwWhatIfTable *table, MwWhatIfFormat format);

#endif
