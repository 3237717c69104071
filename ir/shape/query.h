/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The query to a shape rule: an operator, the types of its operands, and its attributes. */
#ifndef MW_IR_SHAPE_QUERY_H
#define MW_IR_SHAPE_QUERY_H

#include "base/diag.h"
#include "base/tensor.h"
#include "ir/op.h"

typedef struct {
    MwOp op;
    const MwTensor *operands;
    int operand_count;
    const MwAttr *attrs; /* complete, in the operator's order */
    int attr_count;
    const MwTensor *given; /* the result type of operators whose type is given; others ignore it */
    MwSpan span;           /* the place of errors */
    const char *callee;    /* what errors call it; NULL: the operator's name */
} MwShapeQuery;

#endif
