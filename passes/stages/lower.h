/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The passes that the search for stages runs on copies of the model (the column `again` of
 * passes/passes.def), in their order and in three steps. The copies are not verified, which would
 * take a tenth of the time of planning: the same passes run on the model itself, which is
 * (ir/verify.h). */
#ifndef MW_PASSES_STAGES_LOWER_H
#define MW_PASSES_STAGES_LOWER_H

#include "passes/compilation.h"

/* Step BATCHING. False after errors: the batch cannot be cut into so many micro-batches. */
bool mw_stage_lower_batching(MwCompilation *compilation, MwDiags *diags);
/* Step REMAT, after BATCHING. False after errors. */
bool mw_stage_lower_remat(MwCompilation *compilation, MwDiags *diags);
/* Step LAYOUT, after REMAT: makes the graphs of compilation->stages, which the intra-operator
 * problem can be built from. False after errors. */
bool mw_stage_lower_layout(MwCompilation *compilation, MwDiags *diags);

#endif
