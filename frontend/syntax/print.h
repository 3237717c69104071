/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The syntax tree as formatted text.
 *
 * The text parses to the same tree, but for spans. Comments and blank lines are no part of a tree,
 * and so are lost. Lines are broken at MW_PRINT_COLUMNS where a bracket, comma or operator allows
 * it. */
#ifndef MW_FRONTEND_SYNTAX_PRINT_H
#define MW_FRONTEND_SYNTAX_PRINT_H

#include "base/text.h"
#include "frontend/syntax/print_line.h"

/* Adds the items of a file. */
void mw_items_print(MwText *text, const MwItems *items);

#endif
