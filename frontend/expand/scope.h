/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The annotation `scope = PATH`: the scope of a call of a block, of a repeat, or of nodes. */
#ifndef MW_FRONTEND_EXPAND_SCOPE_H
#define MW_FRONTEND_EXPAND_SCOPE_H

#include "frontend/terms/expander.h"

/* Reads the path of an annotation: a name (attn, transformer.h), a number (0), or a text. NULL
 * after an error. */
const char *mw_scope_read(MwExpander *ex, const MwArg *annotation);

/* Gives the scope that the annotations name, if they do, to the one call of a block in the
 * expressions: the next calls have it until mw_scope_end. Where the expressions call no block, the
 * annotation describes nodes (annotate.c). False after an error: they call several. */
bool mw_scope_begin(MwExpander *ex, const MwArgs *annotations, MwExpr *const *exprs, int count);
void mw_scope_end(MwExpander *ex);

#endif
