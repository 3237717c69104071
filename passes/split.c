/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the graph of the whole model to one for each stage.
 *
 * In:  compilation->graph.
 * Out: compilation->stages, of which one is the whole graph. */
#include "passes/pass.h"

bool mw_pass_split(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    compilation->stages = MW_NEW(compilation->arena, MwStage, 1);
    compilation->stages[0].graph = compilation->graph;
    return true;
}
