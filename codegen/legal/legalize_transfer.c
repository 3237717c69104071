/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transfers between meshes.
 *
 * In: SEND and RECEIVE nodes, in the order of the model. Out: the same; what is sent is dense, and
 * a receive has the transfers of its phase before it as operands, so that no order of units has it
 * wait for another mesh with a send still to do. */
#include "codegen/legal/legalize_rules.h"

void mw_legal_transfer(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                       MwValueId *results)
{
    MwArena *arena = l->legal->graph->arena;
    if (node->op == MW_OP_SEND) {
        MwValueId x = mw_legal_dense(l, operands[0], mw_legal_tensor(l, operands[0])->type);
        results[0] = mw_legal_add(l, node->op, &x, 1, node->attrs, node->attr_count);
    } else {
        results[0] = mw_legal_add(l, node->op, l->transfers[node->phase].at,
                                  l->transfers[node->phase].count, node->attrs, node->attr_count);
        l->transfers[node->phase].count = 0;
    }
    mw_vec_push(arena, &l->transfers[node->phase], results[0]);
}
