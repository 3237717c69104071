/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Long texts on a terminal: its width, lines that keep to it, and a pager. */
#ifndef MW_TOOLS_TERMINAL_H
#define MW_TOOLS_TERMINAL_H

#include "base/text.h"

/* The columns of the terminal that an open file is; 0: it is none. */
int mw_terminal_columns(int descriptor);

/* `text` with lines of at most `columns` where there are spaces to break them at; what follows a
 * break is indented further than the line. */
MwText mw_terminal_wrap(const MwText *text, int columns);

/* Shows the text through $PAGER, or less where that is not set, if standard output is a terminal.
 * False if it was not shown: there is no pager, or PAGER is empty or "cat". */
bool mw_terminal_page(const MwText *text);

#endif
