/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/text_section.h"

void mw_inspect_text_section(MwText *text, MwTextTable *table, const char *title, bool folds,
                             MwInspectView view)
{
    if (folds && !view.all)
        mw_text_table_fold(table);
    const char *hidden = view.columns ? mw_text_table_fit(table, view.columns) : "";
    mw_text_printf(text, "\n%s\n", title);
    if (table->rows.count == 1)
        mw_text_add(text, "  none\n");
    else
        mw_text_table_print(text, table);
    if (*hidden)
        mw_text_printf(text, "  (there is no room for: %s)\n", hidden);
}
