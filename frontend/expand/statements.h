/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statements that hold no others; body.c runs them. */
#ifndef MW_FRONTEND_EXPAND_STATEMENTS_H
#define MW_FRONTEND_EXPAND_STATEMENTS_H

#include "frontend/terms/expander.h"

/* INPUT, WEIGHT, STATE (declare.c) */
void mw_statement_declare(MwExpander *ex, const MwStatement *statement);
/* LET, OUTPUT, SHOW, ASSIGN (let.c) */
void mw_statement_let(MwExpander *ex, const MwStatement *statement);
void mw_statement_output(MwExpander *ex, const MwStatement *statement);
void mw_statement_show(MwExpander *ex, const MwStatement *statement);
void mw_statement_assign(MwExpander *ex, const MwStatement *statement);
/* Whether the statement gives its targets a meaning. */
bool mw_statement_names(const MwStatement *statement);
/* TRAIN, PRECISION (train.c) */
void mw_statement_train(MwExpander *ex, const MwStatement *statement);
void mw_statement_precision(MwExpander *ex, const MwStatement *statement);
/* Ends the model: names its losses, adds what it shows after them, checks its train statements
 * against each other (train.c). */
void mw_trains_finish(MwExpander *ex);

/* COLLECT (scan.c) */
void mw_statement_collect(MwExpander *ex, const MwStatement *statement);

#endif
