/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The passes that the search for stages runs on copies of the model (the column `again` of
 * passes/passes.def), in their order. */
#ifndef MW_PASSES_STAGES_LOWER_H
#define MW_PASSES_STAGES_LOWER_H

#include "passes/compilation.h"

/* False after errors: the batch cannot be cut so. The graph is checked after every pass. */
bool mw_stage_lower_batching(MwCompilation *compilation, MwDiags *diags);
/* After these. */
bool mw_stage_lower_remat(MwCompilation *compilation, MwDiags *diags);
/* And after these: compilation->stages have their graphs, ready for the intra-op problem. */
bool mw_stage_lower_layout(MwCompilation *compilation, MwDiags *diags);

#endif
