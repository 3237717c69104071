/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running the statements of the model and of blocks. */
#ifndef MW_FRONTEND_EXPAND_BODY_H
#define MW_FRONTEND_EXPAND_BODY_H

#include "frontend/terms/expander.h"

/* Runs the body of ex->frame, whose scope begins with it. */
void mw_body_run(MwExpander *ex, const MwBody *body);
/* The call of a block: its body expanded in a frame and scope of its own. */
MwTerm mw_block_call(MwExpander *ex, MwBlockState *state, const MwExpr *expr);

#endif
