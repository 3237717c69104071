/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `[ ]` behind an expression: an element or part of a list, or a part of a tensor. */
#ifndef MW_FRONTEND_EXPAND_INDEX_H
#define MW_FRONTEND_EXPAND_INDEX_H

#include "frontend/expand/eval.h"

/* Of a list, `k[i]` is an element and `k[begin:end]` a list. Of a tensor, each item is for a
 * dimension, from the first on, and `...` for those that the others leave: an element, which lacks
 * the dimension, or a range. Places count from 0, or backwards from -1, the last. NONE after an
 * error. */
MwTerm mw_eval_index(MwExpander *ex, const MwExpr *expr, MwTargets targets);

#endif
