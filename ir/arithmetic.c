/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/arithmetic.h"

#include <math.h>

/* The greater one; NaN where one is. */
static double greater(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/* The quotient rounded down. Rounded before, it could be too great by 1: 1 // 0.1 is 9. */
static double floor_div(double a, double b)
{
    double left = fmod(a, b);
    if (b == 0)
        return a / b;
    return rint((a - left) / b) - (left != 0 && (left < 0) != (b < 0));
}

/* What floor_div leaves: 0, or a number with the sign of b. */
static double modulo(double a, double b)
{
    double left = fmod(a, b);
    return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
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
    ROW(EXPM1, NUMBER, expm1(a))                                                                   \
    ROW(LOG1P, NUMBER, log1p(a))                                                                   \
    ROW(TAN, NUMBER, tan(a))                                                                       \
    ROW(ATAN2, NUMBER, atan2(a, b))                                                                \
    ROW(SIGN, NUMBER, sign(a))                                                                     \
    ROW(FLOOR, NUMBER, floor(a))                                                                   \
    ROW(CEIL, NUMBER, ceil(a))                                                                     \
    ROW(ROUND, NUMBER, rint(a))                                                                    \
    ROW(FLOOR_DIV, NUMBER, floor_div(a, b))                                                        \
    ROW(MOD, NUMBER, modulo(a, b))                                                                 \
    ROW(STOP_GRADIENT, NUMBER, a)                                                                  \
    ROW(SIGMOID, NUMBER, sigmoid(a))                                                               \
    ROW(RELU, NUMBER, greater(0, a))                                                               \
    ROW(GELU, NUMBER, a *(0.5 * erfc(-a / sqrt(2))))                                               \
    ROW(GELU_TANH, NUMBER, gelu_tanh(a))                                                           \
    ROW(SILU, NUMBER, a *sigmoid(a))                                                               \
    ROW(SOFTPLUS, NUMBER, greater(a, 0) + log1p(exp(-fabs(a))))                                    \
    ROW(ISNAN, COMPARE, isnan(a) != 0)                                                             \
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
