/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What element-wise operators give of numbers, in double precision. The front end computes
 * constants of the language with it, and simplify constants of a graph. */
#ifndef MW_IR_SCALAR_H
#define MW_IR_SCALAR_H

#include "ir/op.h"

typedef enum {
    MW_SCALAR_NONE,    /* the operator is not computed of constants */
    MW_SCALAR_NUMBER,  /* numbers to a number */
    MW_SCALAR_COMPARE, /* numbers to a truth value, 0 or 1 */
    MW_SCALAR_LOGIC,   /* truth values to a truth value */
} MwScalarKind;

MwScalarKind mw_scalar_kind(MwOp op);

/* The value of `op`, whose kind is not NONE, for its one or two operands; `b` is not used if it has
 * one. */
double mw_scalar_apply(MwOp op, double a, double b);

#endif
