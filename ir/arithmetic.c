/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/arithmetic.h"

#include <math.h>

/* The greater one; NaN where one is. */
static double greater(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The tanh approximation of GELU: Hendrycks and Gimpel 2016. */
static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* ROW(operator, kind, value for operands a and b). The values are those of the `expression`
 * column of ir/ops.def, for NaN and infinities too. Operators with an expression have no row if
 * only the compiler writes them, or if they select or convert. */
#define OPERATORS(ROW)                                                                             \
    ROW(ADD, NUMBER, a + b)                                                                        \
    ROW(SUB, NUMBER, a - b)                                                                        \
    ROW(MUL, NUMBER, a *b)                                                                         \
    ROW(DIV, NUMBER, a / b)                                                                        \
    ROW(MAXIMUM, NUMBER, greater(a, b))                                                            \
    ROW(MINIMUM, NUMBER, -greater(-a, -b))                                                         \
    ROW(POW, NUMBER, pow(a, b))                                                                    \
    ROW(NEG, NUMBER, -a)                                                                           \
    ROW(ABS, NUMBER, fabs(a))                                                                      \
    ROW(EXP, NUMBER, exp(a))                                                                       \
    ROW(LOG, NUMBER, log(a))                                                                       \
    ROW(SQRT, NUMBER, sqrt(a))                                                                     \
    ROW(RSQRT, NUMBER, 1 / sqrt(a))                                                                \
    ROW(SIN, NUMBER, sin(a))                                                                       \
    ROW(COS, NUMBER, cos(a))                                                                       \
    ROW(TANH, NUMBER, tanh(a))                                                                     \
    ROW(ERF, NUMBER, erf(a))                                                                       \
    ROW(SIGMOID, NUMBER, sigmoid(a))                                                               \
    ROW(RELU, NUMBER, greater(0, a))                                                               \
    ROW(GELU, NUMBER, a *(0.5 * erfc(-a / sqrt(2))))                                               \
    ROW(GELU_TANH, NUMBER, gelu_tanh(a))                                                           \
    ROW(SILU, NUMBER, a *sigmoid(a))                                                               \
    ROW(LT, COMPARE, a < b)                                                                        \
    ROW(LE, COMPARE, a <= b)                                                                       \
    ROW(GT, COMPARE, a > b)                                                                        \
    ROW(GE, COMPARE, a >= b)                                                                       \
    ROW(EQ, COMPARE, a == b)                                                                       \
    ROW(NE, COMPARE, a != b)                                                                       \
    ROW(AND, LOGIC, a != 0 && b != 0)                                                              \
    ROW(OR, LOGIC, a != 0 || b != 0)                                                               \
    ROW(NOT, LOGIC, a == 0)

static const MwArithmetic kinds[MW_OP_COUNT] = {
#define ROW(op, kind, value) [MW_OP_##op] = MW_ARITHMETIC_##kind,
    OPERATORS(ROW)
#undef ROW
};

MwArithmetic mw_arithmetic_kind(MwOp op)
{
    return kinds[op];
}

double mw_arithmetic_apply(MwOp op, double a, double b)
{
    switch (op) {
#define ROW(op, kind, value)                                                                       \
    case MW_OP_##op:                                                                               \
        return value;
        OPERATORS(ROW)
#undef ROW
    default:
        MW_UNREACHABLE();
    }
}
