/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on terms that are constants. */
#ifndef MW_FRONTEND_TERMS_FOLD_H
#define MW_FRONTEND_TERMS_FOLD_H

#include "frontend/terms/emit.h"

/* `op`, which mw_arithmetic_kind says can be computed, on constants; NONE after an error. */
MwTerm mw_fold(MwExpander *ex, MwSite site, MwOp op, const MwTerm *terms, int count);

#endif
