/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan shown to people and programs. Everything shown stands in the plan itself. */
#ifndef MW_TOOLS_INSPECT_INSPECT_H
#define MW_TOOLS_INSPECT_INSPECT_H

#include "base/text.h"
#include "runtime/plan/plan.h"
#include "tools/inspect/text_section.h"

/* Tables for a terminal: what was chosen for every operator, what it costs, and totals. Identical
 * rows of repeated layers are folded into one unless `all`. */
void mw_inspect_text(MwText *text, const MwPlan *plan, MwInspectView view);
/* One JSON object; docs/inspect.md lists its keys. */
void mw_inspect_json(MwText *text, const MwPlan *plan);
/* A Graphviz digraph of the operators, coloured by phase. */
void mw_inspect_dot(MwText *text, const MwPlan *plan);
/* One self-contained page. */
void mw_inspect_html(MwText *text, const MwPlan *plan);

#endif
