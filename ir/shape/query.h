/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The question to a shape rule: an operator on operands of some types, with attributes. */
#ifndef MW_IR_SHAPE_QUERY_H
#define MW_IR_SHAPE_QUERY_H

#include "base/diag.h"
#include "base/tensor.h"
#include "ir/op.h"

typedef struct {
    MwOp op;
    const MwTensor *operands;
    int operand_count;
    const MwAttr *attrs; /* complete, in the op's order */
    int attr_count;
    const MwTensor *given; /* the result type of operators whose shape is given; else ignored */
    MwSpan span;           /* where errors point */
} MwShapeQuery;

#endif
