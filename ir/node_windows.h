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

/* Of a node max_pool, sum_pool or the gradient of one. */
MwPooled mw_pooled(const MwGraph *graph, const MwNode *node);

/* The windows of a node of either kind, all of whose types are known. */
MwWindows mw_windows(const MwGraph *graph, const MwNode *node);

#endif
