/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What expressions mean: constants are computed at once, operators on tensors add nodes. */
#ifndef MW_FRONTEND_EXPAND_EVAL_H
#define MW_FRONTEND_EXPAND_EVAL_H

#include "frontend/terms/call.h"

/* NONE after an error. */
MwTerm mw_eval(MwExpander *ex, const MwExpr *expr, MwTargets targets);

/* Evaluates arguments and binds them. False after an error, or if an argument is NONE. */
bool mw_eval_call(MwExpander *ex, MwCall *call, const MwArgs *args);

/* Whether a call expression calls a block, not a function. */
bool mw_calls_block(const MwExpander *ex, const MwExpr *expr);

#endif
