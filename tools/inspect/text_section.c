/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/inspect/text_section.h"

void mw_inspect_text_section(MwText *text, MwTextTable *table, const char *title, bool all)
{
    if (!all)
        mw_text_table_fold(table);
    mw_text_printf(text, "\n%s\n", title);
    if (table->rows.count == 1)
        mw_text_add(text, "  none\n");
    else
        mw_text_table_print(text, table);
}
