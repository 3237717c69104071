/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of `inspect --format text`. */
#ifndef MW_TOOLS_INSPECT_TEXT_H
#define MW_TOOLS_INSPECT_TEXT_H

#include "tools/inspect/pipeline.h"
#include "tools/text_table.h"

/* An empty line, the title, and the table or "none"; rows of repeated layers folded unless `all`. */
void mw_inspect_text_table(MwText *text, MwTextTable *table, const char *title, bool all);

/* The step, the stages, what passes between them, the timeline. */
void mw_inspect_text_pipeline(MwText *text, const MwInspectPipeline *pipeline);
/* Nothing where the search rejected nothing. */
void mw_inspect_text_alternatives(MwText *text, const MwPlan *plan);

#endif
