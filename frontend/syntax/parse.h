/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text to syntax tree. */
#ifndef MW_FRONTEND_SYNTAX_PARSE_H
#define MW_FRONTEND_SYNTAX_PARSE_H

#include "frontend/syntax/ast.h"

/* Adds the items of `source` to `items`, in order. False after errors; `items` then holds what
 * could be understood. `source` must outlive the tree. */
bool mw_source_parse(MwArena *arena, MwInterner *interner, const MwSource *source, MwDiags *diags,
                     MwItems *items);

/* Whether `text` is one name of the language: not a keyword, a number, or more than a name. */
bool mw_text_is_name(const char *text);

#endif
