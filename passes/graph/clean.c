/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clean: simplify once more. Gradients leave products by one and sums nobody asked for, the cut
 * into micro-batches leaves the whole of what is used in parts only. */
#include "passes/graph/simplify.h"
#include "passes/pass.h"

bool mw_pass_clean(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    compilation->graph = mw_simplify(compilation->graph);
    return true;
}
