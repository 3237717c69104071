/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What element-wise operators give of numbers, in double precision. The front end computes
 * constants of the language with it, and simplify constants of a graph. */
#ifndef MW_IR_ARITHMETIC_H
#define MW_IR_ARITHMETIC_H

#include "ir/op.h"

typedef enum {
    MW_ARITHMETIC_NONE,    /* the operator is not computed of constants */
    MW_ARITHMETIC_NUMBER,  /* numbers to a number */
    MW_ARITHMETIC_COMPARE, /* numbers to a truth value, 0 or 1 */
    MW_ARITHMETIC_LOGIC,   /* truth values to a truth value */
} MwArithmetic;

MwArithmetic mw_arithmetic_kind(MwOp op);

/* The value of `op`, whose kind is not NONE, for its one or two operands; `b` is not used if it has
 * one. */
double mw_arithmetic_apply(MwOp op, double a, double b);

#endif
