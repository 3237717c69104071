/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads `with key = value, …` on a statement. */
#ifndef MW_FRONTEND_EXPAND_ANNOTATE_H
#define MW_FRONTEND_EXPAND_ANNOTATE_H

#include "frontend/terms/expander.h"

/* Sets phase and origin of the nodes that the statement adds. Returns false after an error. */
bool mw_annotate_nodes(MwExpander *ex, const MwArgs *annotations);
/* Reads `batch = false`, which only an input may have, into `whole`, and gives the `others`.
 * Returns false after an error. */
bool mw_annotate_input(MwExpander *ex, const MwArgs *annotations, MwArgs *others, bool *whole);
/* Checks the annotations of a statement that adds no nodes: they can only be pins. Returns false
 * after an error. */
bool mw_annotate_check_pins(MwExpander *ex, const MwArgs *annotations);
/* Pins the values that the statement names. */
void mw_annotate_values(MwExpander *ex, const MwArgs *annotations, const MwTerm *terms, int count);
/* What a repeat may say of the scopes of its iterations, PATH.FIRST and the numbers after it. */
typedef struct {
    const char *path; /* NULL: the name of its count; "": iterations have their number alone */
    int first;
} MwRepeatScope;

/* Reads the annotations of a repeat into `scope`, which is zeroed. Returns false after an error. */
bool mw_annotate_repeat_scope(MwExpander *ex, const MwArgs *annotations, MwRepeatScope *scope);
/* Reads `[R, I]`: iteration I of entry R of the graph's repeats. */
bool mw_annotate_repeat(MwExpander *ex, const MwExpr *expr, int *repeat, int *iteration);

#endif
