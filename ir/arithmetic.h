/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element-wise operators on numbers, in double precision. The front end computes constants of
 * the language with them, and simplify computes constants of a graph. */
#ifndef MW_IR_ARITHMETIC_H
#define MW_IR_ARITHMETIC_H

#include "ir/op.h"

typedef enum {
    MW_ARITHMETIC_NONE,    /* the operator is not computed on constants */
    MW_ARITHMETIC_NUMBER,  /* numbers to a number */
    MW_ARITHMETIC_COMPARE, /* numbers to a truth value, 0 or 1 */
    MW_ARITHMETIC_LOGIC,   /* truth values to a truth value */
} MwArithmetic;

/* How the operator is computed on constants. */
MwArithmetic mw_arithmetic_kind(MwOp op);

/* The value of `op`, whose kind is not NONE, on its one or two operands. An operator with one
 * operand ignores `b`. */
double mw_arithmetic_apply(MwOp op, double a, double b);

#endif
