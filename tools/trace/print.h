/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of `meshwright trace`. */
#ifndef MW_TOOLS_TRACE_PRINT_H
#define MW_TOOLS_TRACE_PRINT_H

#include "tools/trace/compare.h"

/* `most`: rows of operators and of layers. */
void mw_trace_print_text(MwText *text, const MwTraceReport *report, int most);
void mw_trace_print_json(MwText *text, const MwTraceReport *report);

#endif
