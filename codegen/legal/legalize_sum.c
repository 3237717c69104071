/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sum of a concatenation of single elements, as additions: one kernel then reads the
 * elements from where they are, and the kernels that compute them need not wait for each other. */
#include "codegen/kernel/sums.h"
#include "codegen/legal/legalize_rules.h"

/* The elements are added in the order in which the elements of a row are added
 * (codegen/kernel/sums.h), so that the sum has the same bits; at most one block of them. */
enum { LANES = MW_SUM_LANES, MOST = MW_SUM_BLOCK };

const MwNode *mw_legal_added_elements(const MwGraph *local, const MwNode *node)
{
    if (node->op != MW_OP_REDUCE_SUM)
        return NULL;
    const MwNode *concat = mw_value_node(local, node->operands[0]);
    if (concat->op != MW_OP_CONCAT || concat->operand_count > MOST ||
        mw_tensor_elements(&local->values.at[node->first_result].tensor) != 1)
        return NULL;
    for (int k = 0; k < concat->operand_count; k++) {
        const MwTensor *element = mw_value_tensor(local, concat->operands[k]);
        if (element->type != MW_F32 || mw_tensor_elements(element) != 1)
            return NULL;
    }
    return concat;
}

static MwValueId add(MwLegalizer *l, MwValueId a, MwValueId b)
{
    return mw_legal_add(l, MW_OP_ADD, (MwValueId[]){a, b}, 2, NULL, 0);
}

void mw_legal_add_elements(MwLegalizer *l, const MwNode *node, const MwValueId *elements, int count,
                           MwValueId *results)
{
    const MwTensor *result = &l->rewrite.from->values.at[node->first_result].tensor;
    MwValueId lane[LANES];
    for (int i = 0; i < count; i++)
        lane[i % LANES] = i < LANES ? elements[i] : add(l, lane[i % LANES], elements[i]);
    for (int width = LANES / 2; width; width /= 2)
        for (int i = 0; i < width && i + width < count; i++)
            lane[i] = add(l, lane[i], lane[i + width]);
    results[0] = mw_legal_reshape(l, lane[0], result->rank, result->dim);
}
