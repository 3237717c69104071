/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The greatest elements of rows, sums and recurrences along an axis, gradients that are scattered
 * along rows, and the first of equal ids: the arguments of their routines, whose operands are
 * dense. */
#include "codegen/legal/library_args.h"
#include "runtime/plan/routine.h"

/* Sets the arguments that all have: `x` has the whole rows, `part` a part of each, or all of it. */
static void fill_rows(const MwTensor *x, const MwTensor *part, MwPlanArg *args)
{
    const int64_t columns = x->dim[x->rank - 1];
    args[MW_ALONG_TYPE].i = x->type;
    args[MW_ALONG_ROWS].i = mw_tensor_elements(x) / columns;
    args[MW_ALONG_COLUMNS].i = columns;
    args[MW_ALONG_COUNT].i = part->dim[part->rank - 1];
}

static const MwTensor *result_tensor(const MwLegal *legal, const MwNode *node, int k)
{
    return &legal->graph->values.at[node->first_result + k].tensor;
}

void mw_arguments_top_k(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    fill_rows(mw_legal_operand_tensor(legal, node, 0), result_tensor(legal, node, 1), args);
    args[MW_TOP_K_ASCENDING].i = mw_node_int(node, MW_ATTR_ASCENDING);
}

void mw_arguments_cumsum(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    const MwTensor *x = mw_legal_operand_tensor(legal, node, 0);
    fill_rows(x, x, args);
    args[MW_CUMSUM_INVERSE].i = mw_node_int(node, MW_ATTR_INVERSE);
}

void mw_arguments_linear_scan(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    const MwTensor *x = mw_legal_operand_tensor(legal, node, 0);
    const int64_t axis = mw_node_int(node, MW_ATTR_AXIS);
    args[MW_LINEAR_SCAN_TYPE].i = x->type;
    args[MW_LINEAR_SCAN_OUTER].i = args[MW_LINEAR_SCAN_INNER].i = 1;
    args[MW_LINEAR_SCAN_STEPS].i = x->dim[axis];
    for (int d = 0; d < x->rank; d++)
        if (d != axis)
            args[d < axis ? MW_LINEAR_SCAN_OUTER : MW_LINEAR_SCAN_INNER].i *= x->dim[d];
    args[MW_LINEAR_SCAN_REVERSE].i = mw_node_int(node, MW_ATTR_REVERSE);
}

void mw_arguments_take_along_grad(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    fill_rows(result_tensor(legal, node, 0), mw_legal_operand_tensor(legal, node, 0), args);
}

void mw_arguments_first_equal(const MwLegal *legal, const MwNode *node, MwPlanArg *args)
{
    args[MW_FIRST_EQUAL_COUNT].i = mw_legal_operand_tensor(legal, node, 0)->dim[0];
}
