/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clean: simplifies once more. Differentiation leaves products by one and unused sums; the cut
 * into micro-batches leaves whole values of which only slices are used. */
#include "passes/graph/simplify.h"
#include "passes/pass.h"

bool mw_pass_clean(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    compilation->graph = mw_simplify(compilation->graph);
    return true;
}
