/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts of `inspect --format html`, as SVG: each says in a sentence what it shows. */
#ifndef MW_TOOLS_INSPECT_HTML_CHARTS_H
#define MW_TOOLS_INSPECT_HTML_CHARTS_H

#include "base/text.h"
#include "runtime/plan/plan.h"

/* The memory of a device of the mesh over the work of a step. */
void mw_inspect_html_memory(MwText *out, const MwPlan *plan, const MwPlanMesh *mesh);
/* The instructions of a step by arithmetic intensity, under the ceilings of the device; nothing
 * where the plan does not have these. */
void mw_inspect_html_roofline(MwText *out, const MwPlan *plan, const MwPlanMesh *mesh);

#endif
