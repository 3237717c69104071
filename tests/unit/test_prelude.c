/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that kernels call, against libm in double precision.
 *
 * Errors are counted in units in the last place of a float of the wanted value's size, but at least
 * of `floor`: where a function crosses zero, or is the difference of greater numbers, it is the
 * error beside those numbers that can be small. */
#include "base/fp8.h"
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

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* Angles of lines of points, in all quarters. */
static float angle_right(float y)
{
    return mw_atan2(y, 0.7f);
}

static double exact_angle_right(double y)
{
    return atan2(y, (double)0.7f);
}

static float angle_left(float y)
{
    return mw_atan2(y, -0.7f);
}

static double exact_angle_left(double y)
{
    return atan2(y, (double)-0.7f);
}

static const Case cases[] = {
    {"exp", mw_exp, exp, -87, 88, 0, 1.5},
    {"exp", mw_exp, exp, -103, -86, 1e-38, 1.5}, /* into the denormals */
    {"log", mw_log, log, 1e-38f, 2, 0, 1.5},
    {"log", mw_log, log, 0.9f, 1.1f, 0, 1.5},
    {"log", mw_log, log, 1, 1e30f, 0, 1.5},
    {"log1p", mw_log1p, log1p, -0.999f, 2, 0, 2},
    {"log1p", mw_log1p, log1p, -1e-3f, 1e-3f, 0, 2},
    {"log1p", mw_log1p, log1p, 1, 1e30f, 0, 2},
    {"expm1", mw_expm1, expm1, -30, 88, 0, 2},
    {"expm1", mw_expm1, expm1, -1, 1, 0, 2},
    {"expm1", mw_expm1, expm1, -1e-3f, 1e-3f, 0, 1},
    {"tan", mw_tan, tan, -10, 10, 1e-3, 4},
    {"tan", mw_tan, tan, -1e5f, 1e5f, 1e-3, 4},
    {"softplus", mw_softplus, softplus, -80, 80, 0, 3},
    {"atan2 on the right", angle_right, exact_angle_right, -5, 5, 0, 3},
    {"atan2 on the left", angle_left, exact_angle_left, -5, 5, 0, 3},
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
    bool found = strncmp(name, "abs(", 4) == 0 || strncmp(name, "sign(", 5) == 0; /* macros */
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
    ck_assert(mw_log1p(-1) == -INFINITY && mw_log1p(INFINITY) == INFINITY && isnan(mw_log1p(-2)));
    ck_assert(mw_expm1(89) == INFINITY && mw_expm1(-INFINITY) == -1 && isnan(mw_expm1(NAN)));
    ck_assert(mw_softplus(200) == 200 && mw_softplus(-200) == 0 && isnan(mw_softplus(NAN)));
    ck_assert(mw_atan2(0, 0) == 0 && mw_atan2(0, -1) == (float)M_PI && isnan(mw_atan2(NAN, 1)));
    ck_assert(fabs(mw_atan2(INFINITY, INFINITY) - M_PI_4) < 1e-7 && isnan(mw_atan2(1, NAN)));
    ck_assert(isnan(mw_atan2(0, NAN)) && isnan(mw_atan2(NAN, 0)) && mw_atan2(0, 1) == 0);
    ck_assert(fabsf(mw_sin(1e30f)) <= 1 && fabsf(mw_cos(-3e38f)) <= 1 && isnan(mw_sin(INFINITY)));
    ck_assert(isnan(mw_sign(NAN)) && mw_sign(-3.0f) == -1 && mw_sign(0) == 0);
    ck_assert(fabs(mw_exp_f64(-7.3) / exp(-7.3) - 1) < 1e-15);
}
END_TEST

/* As in Python, at the ends of i32 too. */
START_TEST(division_rounds_down)
{
    static const int32_t ints[][4] = {
        {7, 3, 2, 1},
        {-7, 3, -3, 2},
        {7, -3, -3, -2},
        {-7, -3, 2, -1},
        {6, -3, -2, 0},
        {5, 0, 0, 0},
        {5, -1, -5, 0},
        {INT32_MIN, -1, INT32_MIN, 0},
        {INT32_MIN, 2, INT32_MIN / 2, 0},
    };
    static const float floats[][4] = {
        {7.5f, 2, 3, 1.5f},           {-7.5f, 2, -4, 0.5f}, {1, 0.1f, 9, 1 - 9 * (double)0.1f},
        {-1, INFINITY, -1, INFINITY}, {1e30f, 1, 1e30f, 0}, {1, 0, INFINITY, NAN},
        {NAN, 1, NAN, NAN},           {1, NAN, NAN, NAN},
    };
    for (int i = 0; i < MW_COUNT(ints); i++) {
        ck_assert_int_eq(mw_floor_div_i32(ints[i][0], ints[i][1]), ints[i][2]);
        ck_assert_int_eq(mw_mod_i32(ints[i][0], ints[i][1]), ints[i][3]);
    }
    for (int i = 0; i < MW_COUNT(floats); i++) {
        const float *f = floats[i];
        const float quotient = mw_floor_div_f32(f[0], f[1]), left = mw_mod_f32(f[0], f[1]);
        ck_assert_msg(quotient == f[2] || (isnan(quotient) && isnan(f[2])), "%d: %g", i, quotient);
        ck_assert_msg(left == f[3] || (isnan(left) && isnan(f[3])), "%d: %g", i, left);
    }
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

/* All numbers of f16, and numbers of f32 beside the middles between two of them, against the type
 * of the C compiler; those of base/half.h too. */
START_TEST(f16_is_that_of_the_compiler)
{
    for (uint32_t bits = 0; bits < 1u << 16; bits++) {
        _Float16 half;
        const uint16_t given = (uint16_t)bits;
        memcpy(&half, &given, sizeof half);
        const float value = (float)half, ours = mw_from_f16(given), base = mw_f16_to_f32(given);
        ck_assert_msg(isnan(value) ? isnan(ours) && isnan(base) : ours == value && base == value,
                      "%04x", bits);
        ck_assert_msg(isnan(value) ||
                          (mw_to_f16(value) == given && mw_f16_from_f32(value) == given),
                      "%04x", bits);
        for (int beside = -1; beside < 2; beside++) {
            const float near =
                mw_bits_f32(mw_f32_bits(value) + (1u << 12) + (uint32_t)beside); /* the middle */
            const _Float16 rounded = (_Float16)near;
            uint16_t wanted;
            memcpy(&wanted, &rounded, sizeof wanted);
            ck_assert_msg(isnan(near) ||
                              (mw_to_f16(near) == wanted && mw_f16_from_f32(near) == wanted),
                          "%a", (double)near);
        }
    }
    ck_assert(isnan(mw_from_f16(mw_to_f16(NAN))));
    for (float value = 0x1p-27f; value < 0x1p-13f; value *= 1.0009765625f) {
        const _Float16 rounded = (_Float16)value;
        uint16_t wanted;
        memcpy(&wanted, &rounded, sizeof wanted);
        ck_assert_uint_eq(mw_to_f16(value), wanted);
        ck_assert_uint_eq(mw_f16_from_f32(-value), wanted | 0x8000);
    }
}
END_TEST

/* ---- Floats of 8 bits ---- */

/* The formats as the specification describes them, in plain arithmetic. */
typedef struct {
    MwType type;
    int exponent_bits, fraction_bits, bias;
    bool has_infinity;
} Format;

static const Format formats[] = {{MW_E4M3, 4, 3, 7, false}, {MW_E5M2, 5, 2, 15, true}};

static double number_of(const Format *format, int code)
{
    const int fractions = 1 << format->fraction_bits, exponents = 1 << format->exponent_bits;
    const int fraction = code % fractions, exponent = code / fractions % exponents;
    const double sign = code & 0x80 ? -1 : 1;
    if (exponent == exponents - 1 && format->has_infinity)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == exponents - 1 && fraction == fractions - 1)
        return NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - format->bias - format->fraction_bits);
    return sign * ldexp(fractions + fraction, exponent - format->bias - format->fraction_bits);
}

static void list_numbers(const Format *format, double numbers[256])
{
    for (int code = 0; code < 256; code++)
        numbers[code] = number_of(format, code);
}

/* The code of the nearest finite number, of two the even one; found by looking at all. */
static int nearest_code(const double numbers[256], double value)
{
    const double size = fmin(fabs(value), 0x1p20); /* beyond the last numbers, where all is one */
    double distance = INFINITY;
    int best = -1;
    for (int code = 0; code < 128; code++) {
        const double number = numbers[code];
        if (number - number != 0)
            continue;
        const double away = fabs(size - number);
        if (best < 0 || away < distance || (away == distance && code % 2 == 0)) {
            best = code;
            distance = away;
        }
    }
    return best | (signbit(value) ? 0x80 : 0);
}

static float printed_from(MwType type, uint8_t code)
{
    return type == MW_E4M3 ? mw_from_e4m3(code) : mw_from_e5m2(code);
}

static uint8_t printed_to(MwType type, float value)
{
    return type == MW_E4M3 ? mw_to_e4m3(value) : mw_to_e5m2(value);
}

static void check_rounding(MwType type, const double numbers[256], float value)
{
    const int wanted = nearest_code(numbers, (double)value);
    if (printed_to(type, value) != wanted || mw_fp8_from_f32(type, value) != wanted ||
        mw_fp8_from_f64(type, (double)value) != wanted) /* an assertion writes to a file */
        ck_abort_msg("%a becomes %02x, %02x, %02x, not %02x", (double)value,
                     printed_to(type, value), mw_fp8_from_f32(type, value),
                     mw_fp8_from_f64(type, (double)value), wanted);
}

START_TEST(floats_of_8_bits_have_the_numbers_of_the_specification)
{
    const MwType type = formats[_i].type;
    double numbers[256];
    list_numbers(&formats[_i], numbers);
    for (int code = 0; code < 256; code++) {
        const double number = numbers[code];
        const float base = mw_fp8_to_f32(type, (uint8_t)code);
        const float printed = printed_from(type, (uint8_t)code);
        ck_assert_msg(isnan(number) ? isnan(base) && isnan(printed)
                                    : (double)base == number && (double)printed == number,
                      "%02x: %g, %g", code, (double)base, (double)printed);
        if (number - number == 0)
            check_rounding(type, numbers, (float)number);
    }
    ck_assert(isnan(mw_fp8_to_f32(type, mw_fp8_from_f32(type, NAN))));
    ck_assert(isnan(printed_from(type, printed_to(type, -NAN))));
}
END_TEST

/* All numbers of f16 and bf16, which have the middles between any two of 8 bits, and the numbers of
 * f32 beside them. */
START_TEST(floats_of_8_bits_are_the_nearest)
{
    double known[256];
    list_numbers(&formats[_i], known);
    for (uint32_t bits = 0; bits < 1u << 16; bits++) {
        const float numbers[] = {mw_f16_to_f32((uint16_t)bits), mw_bf16_to_f32((uint16_t)bits)};
        for (int i = 0; i < MW_COUNT(numbers); i++)
            for (int beside = -1; beside < 2 && !isnan(numbers[i]); beside++) {
                const float value = isinf(numbers[i]) || numbers[i] == 0
                                        ? numbers[i]
                                        : mw_bits_f32(mw_f32_bits(numbers[i]) + (uint32_t)beside);
                check_rounding(formats[_i].type, known, value);
            }
    }
}
END_TEST

/* A double close to a middle is rounded once. */
START_TEST(doubles_become_floats_of_8_bits_at_once)
{
    ck_assert_int_eq(mw_fp8_from_f64(MW_E4M3, 1.0625), 0x38);
    ck_assert_int_eq(mw_fp8_from_f64(MW_E4M3, 1.0625 + 0x1p-40), 0x39);
    ck_assert_int_eq(mw_fp8_from_f64(MW_E5M2, 1.125), 0x3c);
    ck_assert_int_eq(mw_fp8_from_f64(MW_E5M2, 1.125 + 0x1p-40), 0x3d);
}
END_TEST

/* On average over all u that a type of 24 - `dropped` bits tells apart, a number is itself. */
START_TEST(stochastic_rounding_is_right_on_average)
{
    static const struct {
        float (*round)(float, float);
        float x, below, above, share; /* of u that round to `above` */
    } rows[] = {{mw_stochastic_bf16, 1 + 0x1p-9f, 1, 1 + 0x1p-7f, 0.25f},
                {mw_stochastic_bf16, -3, -3, -3, 0},
                {mw_stochastic_bf16, 0x1.8p-133f, 0x1p-133f, 0x1p-132f, 0.5f},
                {mw_stochastic_bf16, 0x1.ffp127f, 0x1.fep127f, INFINITY, 0.5f},
                {mw_stochastic_f16, 0x1.8p-24f, 0x1p-24f, 0x1p-23f, 0.5f},
                {mw_stochastic_e4m3, -1.1875f, -1.125f, -1.25f, 0.5f},
                {mw_stochastic_e4m3, 0x1.4p-9f, 0x1p-9f, 0x1p-8f, 0.25f},
                {mw_stochastic_e4m3, 464, 448, 448, 0},
                {mw_stochastic_e5m2, 0x1p-18f, 0, 0x1p-16f, 0.25f},
                {mw_stochastic_e5m2, -0.0f, -0.0f, 0, 0},
                {mw_stochastic_e5m2, -INFINITY, -57344, 0, 0}};
    for (int i = 0; i < MW_COUNT(rows); i++) {
        int above = 0;
        for (int k = 0; k < 256; k++) {
            const float y = rows[i].round(rows[i].x, (float)k / 256);
            ck_assert_msg(y == rows[i].below || y == rows[i].above, "row %d: %g", i, (double)y);
            above += y != rows[i].below;
        }
        ck_assert_msg((float)above == rows[i].share * 256, "row %d: %d of 256", i, above);
    }
    ck_assert(isnan(mw_stochastic_e4m3(NAN, 0.5f)) && isnan(mw_stochastic_bf16(NAN, 0.9f)));
}
END_TEST

START_TEST(scales_are_powers_of_two)
{
    ck_assert(mw_scale_to(448, 3, 448) == 1 && mw_scale_to(449, 3, 448) == 0.5f);
    ck_assert(mw_scale_to(1, 3, 448) == 256 && mw_scale_to(0x1p-30f, 3, 57344) == 0x1p45f);
    ck_assert(mw_scale_to(1e-30f, 3, 448) == 0x1p60f && mw_scale_to(1e-44f, 3, 448) == 0x1p60f);
    ck_assert(mw_scale_to(3e38f, 3, 448) == 0x1p-60f);
    ck_assert(mw_scale_to(0, 3, 448) == 3 && mw_scale_to(INFINITY, 3, 448) == 3);
    ck_assert(mw_scale_to(NAN, 3, 448) == 3);
}
END_TEST

START_TEST(floats_become_the_nearest_integers)
{
    static const struct {
        float from;
        int64_t i8, u8, i32, i64;
    } rows[] = {{1.9f, 1, 1, 1, 1},
                {-1.9f, -1, 0, -1, -1},
                {127.9f, 127, 127, 127, 127},
                {-200, -128, 0, -200, -200},
                {300, 127, 255, 300, 300},
                {0x1p31f, 127, 255, INT32_MAX, 0x80000000ll},
                {-0x1p31f, -128, 0, INT32_MIN, -0x80000000ll},
                {0x1p63f, 127, 255, INT32_MAX, INT64_MAX},
                {-0x1p64f, -128, 0, INT32_MIN, INT64_MIN},
                {-INFINITY, -128, 0, INT32_MIN, INT64_MIN},
                {NAN, 0, 0, 0, 0}};
    for (int i = 0; i < MW_COUNT(rows); i++) {
        ck_assert_int_eq(mw_to_i8(rows[i].from), rows[i].i8);
        ck_assert_int_eq(mw_to_u8(rows[i].from), rows[i].u8);
        ck_assert_int_eq(mw_to_i32(rows[i].from), rows[i].i32);
        ck_assert_int_eq(mw_to_i64(rows[i].from), rows[i].i64);
    }
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
    tcase_add_test(tests, division_rounds_down);
    tcase_add_test(tests, bf16_rounds_to_nearest_even);
    tcase_add_test(tests, f16_is_that_of_the_compiler);
    tcase_add_loop_test(tests, floats_of_8_bits_have_the_numbers_of_the_specification, 0,
                        MW_COUNT(formats));
    tcase_add_loop_test(tests, floats_of_8_bits_are_the_nearest, 0, MW_COUNT(formats));
    tcase_add_test(tests, doubles_become_floats_of_8_bits_at_once);
    tcase_add_test(tests, stochastic_rounding_is_right_on_average);
    tcase_add_test(tests, scales_are_powers_of_two);
    tcase_add_test(tests, floats_become_the_nearest_integers);
    return run_suite(suite);
}
