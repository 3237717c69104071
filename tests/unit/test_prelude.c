/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that kernels call, against libm in double precision.
 *
 * Errors are counted in units in the last place of a float of the wanted value's size, but at least
 * of `floor`: where a function crosses zero, or is the difference of greater numbers, it is the
 * error beside those numbers that can be small. */
#include "ir/op.h"
#include "tests/unit/support.h"

#include <string.h>

/* Last, because its macros stand in for functions of base/base.h. */
#include "codegen/print/prelude.h"

typedef struct {
    const char *name;
    float (*ours)(float);
    double (*exact)(double);
    float from, to;
    double floor, tolerance_ulp;
} Case;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double silu_grad(double x)
{
    double s = sigmoid(x);
    return s + x * s * (1 - s);
}

static double gelu(double x)
{
    return x * 0.5 * erfc(-x / sqrt(2));
}

static double gelu_grad(double x)
{
    return 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
}

static double inner(double x)
{
    return sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
}

static double gelu_tanh(double x)
{
    return x * sigmoid(2 * inner(x));
}

static double gelu_tanh_grad(double x)
{
    double s = sigmoid(2 * inner(x));
    return s + x * s * (1 - s) * 2 * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static const Case cases[] = {
    {"exp", mw_exp, exp, -87, 88, 0, 1.5},
    {"exp", mw_exp, exp, -103, -86, 1e-38, 1.5}, /* into the denormals */
    {"log", mw_log, log, 1e-38f, 2, 0, 1.5},
    {"log", mw_log, log, 0.9f, 1.1f, 0, 1.5},
    {"log", mw_log, log, 1, 1e30f, 0, 1.5},
    {"tanh", mw_tanh, tanh, -12, 12, 0, 2},
    {"erf", mw_erf, erf, -5, 5, 0, 3},
    {"sin", mw_sin, sin, -10, 10, 1e-3, 2},
    {"sin", mw_sin, sin, -1e5f, 1e5f, 1e-3, 2},
    {"cos", mw_cos, cos, -1e5f, 1e5f, 1e-3, 2},
    {"sqrt", mw_sqrt, sqrt, 0, 1e9f, 0, 0.51},
    {"rsqrt", mw_rsqrt, rsqrt, 1e-6f, 1e9f, 0, 1.5},
    {"sigmoid", mw_sigmoid, sigmoid, -80, 80, 0, 3},
    {"silu", mw_silu, silu, -80, 80, 0, 3.5},
    {"silu_grad", mw_silu_grad, silu_grad, -90, 90, 1, 3},
    {"gelu", mw_gelu, gelu, -4, 8, 0, 12},
    {"gelu", mw_gelu, gelu, -10, -4, 0, 50}, /* the square of x under exp, rounded once */
    {"gelu_grad", mw_gelu_grad, gelu_grad, -8, 8, 1, 3},
    {"gelu_tanh", mw_gelu_tanh, gelu_tanh, -4, 8, 0, 30},
    {"gelu_tanh_grad", mw_gelu_tanh_grad, gelu_tanh_grad, -8, 8, 1, 3},
};

static double error_ulp(const Case *c, float x)
{
    double want = c->exact((double)x), got = (double)c->ours(x);
    int exponent;
    frexp(fmax(fmax(fabs(want), c->floor), 0x1p-126), &exponent);
    return fabs(got - want) / ldexp(1, exponent - 24);
}

START_TEST(functions_are_accurate)
{
    enum { POINTS = 20000 };
    const Case *c = &cases[_i];
    for (int i = 0; i <= POINTS; i++) {
        float x = c->from + (c->to - c->from) * ((float)i / POINTS);
        ck_assert_msg(error_ulp(c, x) <= c->tolerance_ulp, "%s(%.9g) = %.9g: %g ulp", c->name,
                      (double)x, (double)c->ours(x), error_ulp(c, x));
    }
}
END_TEST

/* Says whether an expression that begins with a call of one operand, "mw_exp($0)", has a case for
 * the function. */
static bool is_covered(const char *expression)
{
    const char *open = expression ? strchr(expression, '(') : NULL;
    if (!open || strncmp(expression, "mw_", 3) != 0 || strncmp(open, "($0)", 4) != 0)
        return true;
    const char *name = expression + 3;
    const size_t length = (size_t)(open - name);
    bool found = strncmp(name, "abs(", 4) == 0; /* exact, and a macro */
    for (int i = 0; i < MW_COUNT(cases); i++)
        found |= strlen(cases[i].name) == length && strncmp(cases[i].name, name, length) == 0;
    return found;
}

START_TEST(every_function_has_a_case)
{
    for (int op = 0; op < MW_OP_COUNT; op++) {
        const MwOpInfo *info = mw_op_info((MwOp)op);
        ck_assert_msg(is_covered(info->expression), "no case for the function of %s", info->name);
    }
}
END_TEST

START_TEST(ends_of_the_range_are_right)
{
    ck_assert(mw_exp(INFINITY) == INFINITY && mw_exp(-INFINITY) == 0 && isnan(mw_exp(NAN)));
    ck_assert(mw_exp(89) == INFINITY && mw_exp(-110) == 0 && mw_exp(0) == 1);
    ck_assert(mw_log(0) == -INFINITY && mw_log(INFINITY) == INFINITY && mw_log(1) == 0);
    ck_assert(isnan(mw_log(-1)) && isnan(mw_log(NAN)));
    ck_assert(mw_tanh(50) == 1 && mw_tanh(-50) == -1 && isnan(mw_tanh(NAN)));
    ck_assert(mw_erf(50) == 1 && mw_erf(-50) == -1 && isnan(mw_erf(NAN)));
    ck_assert(mw_sigmoid(-200) == 0 && mw_sigmoid(200) == 1);
    ck_assert(mw_gelu(-200) == 0 && mw_gelu(200) == 200 && mw_silu(-200) == 0);
    ck_assert(isnan(mw_max(NAN, 1.0f)) && isnan(mw_max(1.0f, NAN)) && mw_max(-INFINITY, 1) == 1);
    ck_assert(isnan(mw_min(NAN, 1.0f)) && isnan(mw_min(1.0f, NAN)) && mw_min(INFINITY, 1) == 1);
    ck_assert(fabs(mw_exp_f64(-7.3) / exp(-7.3) - 1) < 1e-15);
}
END_TEST

START_TEST(bf16_rounds_to_nearest_even)
{
    ck_assert_uint_eq(mw_to_bf16(1.0f), 0x3f80);
    ck_assert_uint_eq(mw_to_bf16(mw_bits_f32(0x3f808000)), 0x3f80); /* a tie */
    ck_assert_uint_eq(mw_to_bf16(mw_bits_f32(0x3f818000)), 0x3f82); /* a tie */
    ck_assert_uint_eq(mw_to_bf16(mw_bits_f32(0x3f808001)), 0x3f81);
    ck_assert_uint_eq(mw_to_bf16(INFINITY), 0x7f80);
    ck_assert(isnan(mw_from_bf16(mw_to_bf16(NAN))));
    ck_assert(mw_from_bf16(0xc040) == -3.0f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prelude");
    TCase *tests = tcase_create("prelude");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, functions_are_accurate, 0, MW_COUNT(cases));
    tcase_add_test(tests, every_function_has_a_case);
    tcase_add_test(tests, ends_of_the_range_are_right);
    tcase_add_test(tests, bf16_rounds_to_nearest_even);
    return run_suite(suite);
}
