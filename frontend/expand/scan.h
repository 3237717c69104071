/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_FRONTEND_EXPAND_SCAN_H
#define MW_FRONTEND_EXPAND_SCAN_H

#include "frontend/terms/expander.h"

/* Expands a `scan`: its body, once, by `run_body`, as a loop of the graph (ir/loops.h). */
void mw_scan_run(MwExpander *ex, const MwStatement *statement,
                 void (*run_body)(MwExpander *ex, const MwBody *body));

#endif
