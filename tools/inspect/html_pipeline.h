/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `inspect --format html` shows of all meshes together. */
#ifndef MW_TOOLS_INSPECT_HTML_PIPELINE_H
#define MW_TOOLS_INSPECT_HTML_PIPELINE_H

#include "tools/inspect/pipeline.h"

/* The stages, what passes between them, the timeline. */
void mw_inspect_html_pipeline(MwText *out, const MwInspectPipeline *pipeline);
/* The layouts that the search rejected; nothing where there are none. */
void mw_inspect_html_alternatives(MwText *out, const MwPlan *plan);

#endif
