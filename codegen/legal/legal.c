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
