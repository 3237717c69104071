/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The windows of nodes: which tensor of a convolution or of pooling is which, and how its windows
 * lie. */
#ifndef MW_IR_NODE_WINDOWS_H
#define MW_IR_NODE_WINDOWS_H

#include "ir/ir.h"
#include "ir/windows.h"

/* The operands of a convolution, whichever of the three is the result: x [batch, in.., channels],
 * filter [size.., channels / groups, features] and y [batch, out.., features]. */
typedef struct {
    const MwTensor *x, *filter, *y;
} MwConvolved;

/* Of a node conv, conv_transpose or conv_filter_grad. */
MwConvolved mw_convolved(const MwGraph *graph, const MwNode *node);
/* The operands of pooling, whichever is the result: x [batch, in.., channels] and y [batch, out..,
 * channels]. */
typedef struct {
    const MwTensor *x, *y;
} MwPooled;

/* Of a node max_pool, sum_pool, the gradient of one, or max_pool_pick. */
MwPooled mw_pooled(const MwGraph *graph, const MwNode *node);

/* Whether the operator is of either kind. */
bool mw_op_has_windows(MwOp op);
/* How many operands of an operator of either kind windows slide over: operand 0 is x, if any is,
 * and operand 1 may be of its shape. */
int mw_windows_taken(MwOp op);
/* Whether the result of an operator of either kind is x or its gradient; the gradient of a maximum
 * takes x too. */
bool mw_windows_give_x(MwOp op);

/* x or its gradient: operand 0 if the operator takes it, else the result. */
MwValueId mw_windows_x(const MwNode *node);

/* What padding counts as in the windows of the operator, of either kind, over operand k. */
double mw_windows_outside(MwOp op, int k);

/* The windows of a node of either kind, all of whose types are known. */
MwWindows mw_windows(const MwGraph *graph, const MwNode *node);

#endif
