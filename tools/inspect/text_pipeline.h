/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `inspect --format text` shows of all meshes together. */
#ifndef MW_TOOLS_INSPECT_TEXT_PIPELINE_H
#define MW_TOOLS_INSPECT_TEXT_PIPELINE_H

#include "tools/inspect/pipeline.h"
#include "tools/inspect/text_section.h"

/* The step, the stages, what passes between them, the timeline. */
void mw_inspect_text_pipeline(MwText *text, const MwInspectPipeline *pipeline, MwInspectView view);
/* The layouts that the search rejected; nothing where there are none. */
void mw_inspect_text_alternatives(MwText *text, const MwPlan *plan, MwInspectView view);

#endif
