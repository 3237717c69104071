/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on terms that are constants. */
#ifndef MW_FRONTEND_TERMS_FOLD_H
#define MW_FRONTEND_TERMS_FOLD_H

#include "frontend/terms/want.h"

/* `op`, which mw_arithmetic_kind says can be computed, on constants; NONE after an error, which
 * calls it `want.what`. */
MwTerm mw_fold(MwExpander *ex, MwWant want, MwOp op, const MwTerm *terms, int count);

#endif
