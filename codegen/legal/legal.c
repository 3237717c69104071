/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/legal/legal.h"

bool mw_legal_takes_whole(const MwLegal *legal, const MwNode *node, int k, MwValueId root)
{
    const MwView *view = mw_legal_operand_view(legal, node, k);
    MwLayout layout = view->layout;
    mw_layout_collapse(&layout);
    return mw_value_equal(view->root, root) && mw_layout_is_dense(&layout) &&
           mw_layout_elements(&layout) == mw_tensor_elements(mw_value_tensor(legal->graph, root));
}

static void note_leaving(const MwLegal *legal, MwValueId value, bool *leaves)
{
    leaves[value.index] = leaves[mw_legal_root(legal, value).index] = true;
}

bool *mw_legal_leaving(MwArena *arena, const MwLegal *legal)
{
    const MwGraph *graph = legal->graph;
    bool *leaves = MW_NEW(arena, bool, graph->values.count);
    for (int i = 0; i < graph->outputs.count; i++)
        note_leaving(legal, graph->outputs.at[i].value, leaves);
    for (int i = 0; i < graph->assigns.count; i++)
        note_leaving(legal, graph->assigns.at[i].value, leaves);
    for (int i = 0; i < graph->metrics.count; i++)
        note_leaving(legal, graph->metrics.at[i].value, leaves);
    return leaves;
}
