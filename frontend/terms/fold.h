/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on terms that are constants. */
#ifndef MW_FRONTEND_TERMS_FOLD_H
#define MW_FRONTEND_TERMS_FOLD_H

#include "frontend/terms/expander.h"

/* Whether `op` can be computed of constants. */
bool mw_fold_applies(MwOp op);
/* `op` on constants; NONE after an error. */
MwTerm mw_fold(MwExpander *ex, MwSpan span, MwOp op, const MwTerm *terms, int count);
MwTerm mw_fold_remainder(MwExpander *ex, MwSpan span, MwTerm a, MwTerm b);

#endif
