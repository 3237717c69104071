/* SPDX-License-Identifier: MIT */
/* The beginning of every unit of generated C: the functions of the expression language of
 * ir/ops.def. The compiler embeds this text; the tests compile it and compare it with libm.
 *
 * All are straight-line code, with choices instead of branches, so that a loop that calls them
 * becomes vector code. Accuracy is 1 to 3 units in the last place of a float, less in the tails of
 * gelu (tests/unit/test_prelude.c has the figures); the polynomials are minimax fits (Remez) of the
 * functions named, on the ranges named. Where a device has a faster instruction for a function, a
 * macro with its name comes before this text (codegen/print/prelude_device.h). */
#ifndef MW_CODEGEN_PRINT_PRELUDE_H
#define MW_CODEGEN_PRINT_PRELUDE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* NaN in either operand is passed on. A comparison with NaN fails and gives `b`, so only `a` needs
 * a test, which costs nothing where `a` is a constant or an integer. `|` leaves no branch. */
#define mw_min(a, b) (((a) < (b)) | ((a) != (a)) ? (a) : (b))
#define mw_max(a, b) (((a) > (b)) | ((a) != (a)) ? (a) : (b))
#ifndef mw_max_f32
#define mw_max_f32(a, b) mw_max(a, b)
#endif
#define mw_abs(a) ((a) < 0 ? -(a) : (a))
#define mw_sign(a) ((a) > 0 ? 1 : (a) < 0 ? -1 : (a))

static inline float mw_bits_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t mw_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float mw_from_bf16(uint16_t half)
{
    return mw_bits_f32((uint32_t)half << 16);
}

/* Rounds to nearest, ties to even; NaN stays NaN. */
#ifndef mw_to_bf16
static inline uint16_t mw_to_bf16(float value)
{
    uint32_t bits = mw_f32_bits(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(value != value ? 0x7fc0u : rounded);
}
#endif

static inline float mw_round_bf16(float value)
{
    return mw_from_bf16(mw_to_bf16(value));
}

/* The power of two of the operator scale_to: the exponent of a quotient. */
static inline float mw_scale_to(float top, float old, float most)
{
    float power = mw_bits_f32(mw_f32_bits(most / top) & 0x7f800000u);
    power = power > 0x1p-60f ? power : 0x1p-60f;
    power = power < 0x1p+60f ? power : 0x1p+60f;
    return (top > 0) & (top < INFINITY) ? power : old;
}

/* Floats to integers: the fraction is dropped, what is too great or too small becomes the last
 * value of the type, and NaN 0. */
static inline int32_t mw_to_i32(float x)
{
    float bounded = x >= -0x1p+31f ? x : -0x1p+31f;
    int32_t whole = (int32_t)(x < 0x1p+31f ? bounded : 0.0f);
    whole = x >= 0x1p+31f ? INT32_MAX : whole;
    return x != x ? 0 : whole;
}

static inline int64_t mw_to_i64(float x)
{
    float bounded = x >= -0x1p+63f ? x : -0x1p+63f;
    int64_t whole = (int64_t)(x < 0x1p+63f ? bounded : 0.0f);
    whole = x >= 0x1p+63f ? INT64_MAX : whole;
    return x != x ? 0 : whole;
}

static inline int32_t mw_to_i8(float x)
{
    float bounded = x >= -128.0f ? x : -128.0f;
    bounded = bounded <= 127.0f ? bounded : 127.0f;
    return (int32_t)(x != x ? 0.0f : bounded);
}

static inline int32_t mw_to_u8(float x)
{
    float bounded = x >= 0.0f ? x : 0.0f;
    return (int32_t)(bounded <= 255.0f ? bounded : 255.0f);
}

/* The exponent of an f16 is 112 less than that of an f32, which a product corrects, for numbers
 * that are not normal too. */
#ifndef mw_from_f16
static inline float mw_from_f16(uint16_t half)
{
    uint32_t bits = mw_f32_bits(mw_bits_f32((uint32_t)(half & 0x7fffu) << 13) * 0x1p+112f);
    bits |= (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
    return mw_bits_f32(bits | (uint32_t)(half & 0x8000u) << 16);
}
#endif

/* Rounds to nearest, ties to even; NaN stays NaN. Below 2^-14 the numbers of f16 are multiples of
 * 2^-24, as those of f32 are from 1/2 to 1. */
#ifndef mw_to_f16
static inline uint16_t mw_to_f16(float value)
{
    uint32_t bits = mw_f32_bits(value) & 0x7fffffffu;
    uint32_t small = mw_f32_bits(mw_bits_f32(bits) + 0.5f) - 0x3f000000u;
    uint32_t half = (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1)) >> 13;
    half = bits < 0x38800000u ? small : half;
    half = bits >= 0x47800000u ? 0x7c00u : half;
    half = bits > 0x7f800000u ? 0x7e00u : half;
    return (uint16_t)(half | (mw_f32_bits(value) >> 16 & 0x8000u));
}
#endif

/* Infinite where rounding to f16 makes it so: from the middle of the last number and 2^16 on. */
static inline float mw_end_f16(float value)
{
    return fabsf(value) >= 65520.0f ? copysignf(INFINITY, value) : value;
}

static inline float mw_round_f16(float value)
{
    return mw_from_f16(mw_to_f16(value));
}

/* Floats of 8 bits. Numbers beyond the last become the last; NaN stays NaN. E5M2 is the upper half
 * of f16. */
#ifndef mw_from_e4m3
static inline float mw_from_e4m3(uint8_t byte)
{
    uint32_t bits = mw_f32_bits(mw_bits_f32((uint32_t)(byte & 0x7fu) << 20) * 0x1p+120f);
    bits = (byte & 0x7fu) == 0x7fu ? 0x7fc00000u : bits;
    return mw_bits_f32(bits | (uint32_t)(byte & 0x80u) << 24);
}
#endif

#ifndef mw_from_e5m2
static inline float mw_from_e5m2(uint8_t byte)
{
    return mw_from_f16((uint16_t)(byte << 8));
}
#endif

/* Rounds to nearest, ties to even. Below 2^-6 the numbers of E4M3 are multiples of 2^-9, as those
 * of f32 are from 2^14 on. */
#ifndef mw_to_e4m3
static inline uint8_t mw_to_e4m3(float value)
{
    uint32_t bits = mw_f32_bits(value) & 0x7fffffffu;
    uint32_t small = mw_f32_bits(mw_bits_f32(bits) + 0x1p+14f) - (141u << 23);
    uint32_t byte = (bits - (120u << 23) + 0x7ffffu + (bits >> 20 & 1)) >> 20;
    byte = bits < 121u << 23 ? small : byte;
    byte = bits >= 0x43e00000u ? 0x7eu : byte;
    byte = bits > 0x7f800000u ? 0x7fu : byte;
    return (uint8_t)(byte | (mw_f32_bits(value) >> 24 & 0x80u));
}
#endif

/* The same: below 2^-14, multiples of 2^-16, as those of f32 are from 2^7 on. */
#ifndef mw_to_e5m2
static inline uint8_t mw_to_e5m2(float value)
{
    uint32_t bits = mw_f32_bits(value) & 0x7fffffffu;
    uint32_t small = mw_f32_bits(mw_bits_f32(bits) + 0x1p+7f) - (134u << 23);
    uint32_t byte = (bits - (112u << 23) + 0xfffffu + (bits >> 21 & 1)) >> 21;
    byte = bits < 113u << 23 ? small : byte;
    byte = bits >= 0x47600000u ? 0x7bu : byte;
    byte = bits > 0x7f800000u ? 0x7fu : byte;
    return (uint8_t)(byte | (mw_f32_bits(value) >> 24 & 0x80u));
}
#endif

static inline float mw_round_e4m3(float value)
{
    return mw_from_e4m3(mw_to_e4m3(value));
}

static inline float mw_round_e5m2(float value)
{
    return mw_from_e5m2(mw_to_e5m2(value));
}

/* Stochastic rounding to a type that drops the last `dropped` bits of f32: away from zero if the
 * fraction that they are is at least 1 - u. Below `least`, the numbers of the type are multiples of
 * `unit`. Infinite is that, and NaN is NaN. */
static inline float mw_stochastic(float x, float u, int dropped, float least, float unit)
{
    uint32_t size = mw_f32_bits(x) & 0x7fffffffu, step = 1u << dropped;
    uint32_t rounded = (size + (uint32_t)(u * (float)step)) & ~(step - 1);
    float value = mw_bits_f32(size), whole = floorf(value / unit);
    float small = (whole + (value / unit - whole >= 1.0f - u ? 1.0f : 0.0f)) * unit;
    float result = value < least ? small : mw_bits_f32(rounded);
    return copysignf(size >= 0x7f800000u ? value : result, x);
}

/* Numbers of bf16 that are not normal are as wide as those of f32, and the bits are enough. */
static inline float mw_stochastic_bf16(float x, float u)
{
    return mw_stochastic(x, u, 16, 0.0f, 1.0f);
}

static inline float mw_stochastic_f16(float x, float u)
{
    return mw_end_f16(mw_stochastic(x, u, 13, 0x1p-14f, 0x1p-24f));
}

static inline float mw_end_fp8(float x, float last)
{
    return fabsf(x) > last ? copysignf(last, x) : x;
}

static inline float mw_stochastic_e4m3(float x, float u)
{
    return mw_end_fp8(mw_stochastic(x, u, 20, 0x1p-6f, 0x1p-9f), 448.0f);
}

static inline float mw_stochastic_e5m2(float x, float u)
{
    return mw_end_fp8(mw_stochastic(x, u, 21, 0x1p-14f, 0x1p-16f), 57344.0f);
}

static inline float mw_fold_sum_f32(float *lane)
{
    for (int width = 16; width; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    return lane[0];
}

static inline float mw_fold_max_f32(float *lane)
{
    for (int width = 16; width; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] = mw_max(lane[l], lane[l + width]);
    return lane[0];
}

#define MW_FOLD(name, type)                                                                        \
    static inline int64_t mw_fold_sum_##name(const type *lane)                                     \
    {                                                                                              \
        int64_t sum = 0;                                                                           \
        for (int l = 0; l < 32; l++)                                                               \
            sum += lane[l];                                                                        \
        return sum;                                                                                \
    }                                                                                              \
    static inline type mw_fold_max_##name(const type *lane)                                        \
    {                                                                                              \
        type max = lane[0];                                                                        \
        for (int l = 1; l < 32; l++)                                                               \
            max = mw_max(max, lane[l]);                                                            \
        return max;                                                                                \
    }

MW_FOLD(i32, int32_t)
MW_FOLD(i64, int64_t)

/* exp(x) = 2^n exp(r), |r| <= ln 2 / 2: returns exp(r) - 1 and sets 2^n in two halves, so that the
 * ends of the range, zero and infinity come out right. */
static inline float mw_exp_parts(float x, float *scale0, float *scale1)
{
    float bounded = x < -105.0f ? -105.0f : x;
    bounded = bounded > 90.0f ? 90.0f : bounded;
    float shifted = bounded * 0x1.715476p+0f + 0x1.8p+23f;
    float n = shifted - 0x1.8p+23f;
    float r = bounded - n * 0x1.62e400p-1f;
    r = r - n * 0x1.7f7d1cp-20f;
    float p = 0x1.6dbc4cp-10f;
    p = p * r + 0x1.124146p-7f;
    p = p * r + 0x1.555454p-5f;
    p = p * r + 0x1.555486p-3f;
    p = p * r + 0x1.000000p-1f;
    p = (p * r) * r + r;
    int32_t power = (int32_t)(mw_f32_bits(shifted) - 0x4b400000u);
    int32_t half = power >> 1;
    *scale0 = mw_bits_f32((uint32_t)(half + 127) << 23);
    *scale1 = mw_bits_f32((uint32_t)(power - half + 127) << 23);
    return p;
}

#ifndef mw_exp
static inline float mw_exp(float x)
{
    float scale0, scale1, p = mw_exp_parts(x, &scale0, &scale1);
    return (p * scale0 + scale0) * scale1;
}
#endif

/* 2^n (exp(r) - 1) + (2^n - 1); beyond 60 the last 1 is below the rounding. */
static inline float mw_expm1(float x)
{
    float scale0, scale1, p = mw_exp_parts(x, &scale0, &scale1);
    float scale = scale0 * scale1;
    return x > 60.0f ? mw_exp(x) : p * scale + (scale - 1.0f);
}

/* log(x) = e ln 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)). */
static inline float mw_log(float x)
{
    float normal = x < 0x1p-126f ? x * 0x1p+23f : x;
    float lifted = x < 0x1p-126f ? -23.0f : 0.0f;
    uint32_t bits = mw_f32_bits(normal) - 0x3f3504f3u;
    float e = (float)((int32_t)bits >> 23) + lifted;
    float f = mw_bits_f32((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = 0x1.1457e4p-4f;
    p = p * f - 0x1.de3bf6p-4f;
    p = p * f + 0x1.e6f03cp-4f;
    p = p * f - 0x1.fc2208p-4f;
    p = p * f + 0x1.23376cp-3f;
    p = p * f - 0x1.555c4ep-3f;
    p = p * f + 0x1.99a4b6p-3f;
    p = p * f - 0x1.000006p-2f;
    p = p * f + 0x1.555548p-2f;
    float square = f * f;
    float result = (p * f) * square + e * 0x1.7f7d1cp-20f;
    result = f + (result - 0.5f * square);
    result = result + e * 0x1.62e400p-1f;
    result = x == INFINITY ? INFINITY : result;
    result = x == 0.0f ? -INFINITY : result;
    return x < 0.0f || x != x ? NAN : result;
}

/* log(u) + (x - (u - 1)) / u with u = 1 + x rounded: the second term is what the rounding lost. */
static inline float mw_log1p(float x)
{
    float u = 1.0f + x, log = mw_log(u);
    float rest = (x - (u - 1.0f)) / u;
    return u == 0.0f || u == INFINITY ? log : log + rest;
}

/* Stays above 0 where exp(x) does. */
static inline float mw_softplus(float x)
{
    return mw_max(0.0f, x) + mw_log1p(mw_exp(-fabsf(x)));
}

static inline float mw_sqrt(float x)
{
    return sqrtf(x);
}

static inline float mw_rsqrt(float x)
{
    return 1.0f / sqrtf(x);
}

/* Accuracy of libm; not vectorised. */
static inline float mw_pow(float x, float y)
{
    return powf(x, y);
}

static inline float mw_tanh(float x)
{
    float a = fabsf(x), square = x * x;
    float p = -0x1.830c0ap-8f;
    p = p * square + 0x1.54e01cp-6f;
    p = p * square - 0x1.b89edap-5f;
    p = p * square + 0x1.1109dcp-3f;
    p = p * square - 0x1.55553ep-2f;
    float small = (p * square) * x + x;
    float large = copysignf(1.0f - 2.0f / (mw_exp(2.0f * a) + 1.0f), x);
    return a < 0.6f ? small : large;
}

/* exp(x^2) erfc(x) for x in [0, 10], as t times a polynomial in t = 1 / (1 + 0.3 x). */
static inline float mw_erfcx(float x)
{
    float t = 1.0f / (1.0f + 0.3f * x);
    float p = -0x1.09435ap-3f;
    p = p * t + 0x1.f1379ap-2f;
    p = p * t - 0x1.064970p-1f;
    p = p * t + 0x1.186ee6p-1f;
    p = p * t - 0x1.83b13ep-4f;
    p = p * t + 0x1.b82b52p-3f;
    p = p * t + 0x1.2fcc66p-3f;
    p = p * t + 0x1.5d9ff4p-3f;
    p = p * t + 0x1.5a7f3ep-3f;
    return p * t;
}

static inline float mw_erf(float x)
{
    float a = fabsf(x), square = x * x;
    float p = 0x1.4ae4c2p-14f;
    p = p * square - 0x1.a485e6p-11f;
    p = p * square + 0x1.5419f4p-8f;
    p = p * square - 0x1.b7fbb4p-6f;
    p = p * square + 0x1.ce2d20p-4f;
    p = p * square - 0x1.81273ep-2f;
    p = p * square + 0x1.20dd74p+0f;
    float bounded = a > 10.0f ? 10.0f : a;
    float large = copysignf(1.0f - mw_exp(-bounded * bounded) * mw_erfcx(bounded), x);
    return a < 1.0f ? p * x : (x != x ? x : large);
}

/* exp in double, which only the frequencies of rotary positions need. |x| < 700. */
static inline double mw_exp_f64(double x)
{
    double shifted = x * 0x1.71547652b82fep+0 + 0x1.8p+52;
    double n = shifted - 0x1.8p+52;
    double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* sin(x + quarter pi / 2), quarter 0 or 1; x is taken in double so that large angles keep their
 * accuracy, up to 2^30. Neighbours beyond 2^26 are more than a turn apart; what greater angles give
 * is a sine, but not theirs. */
static inline float mw_sin_quarter(double x, int quarter)
{
    double shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p+52;
    double n = shifted - 0x1.8p+52;
    float r = (float)((x - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a626331p-34);
    r = r > 0.8f ? 0.8f : r < -0.8f ? -0.8f : r;
    int64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    int32_t quadrant = (int32_t)bits + quarter;
    float square = r * r;
    float s = 0x1.6cbecep-19f;
    s = s * square - 0x1.a00f32p-13f;
    s = s * square + 0x1.111108p-7f;
    s = s * square - 0x1.555556p-3f;
    s = (s * square) * r + r;
    float c = 0x1.99e33ap-16f;
    c = c * square - 0x1.6c0c22p-10f;
    c = c * square + 0x1.55554ap-5f;
    c = (c * square) * square + (1.0f - 0.5f * square);
    float value = quadrant & 1 ? c : s;
    return quadrant & 2 ? -value : value;
}

static inline float mw_sin(float x)
{
    return mw_sin_quarter((double)x, 0);
}

static inline float mw_cos(float x)
{
    return mw_sin_quarter((double)x, 1);
}

static inline float mw_tan(float x)
{
    return mw_sin(x) / mw_cos(x);
}

/* The angle t = atan(low / high) of the first eighth of the circle, then that of its place. */
static inline float mw_atan2(float y, float x)
{
    float a = fabsf(x), b = fabsf(y);
    float high = a > b ? a : b, low = a > b ? b : a;
    float t = low == high ? 1.0f : low / high; /* infinities too */
    t = high == 0.0f && low == 0.0f ? 0.0f : t;
    float square = t * t;
    float p = 0x1.758a6cp-9f;
    p = p * square - 0x1.0744b6p-6f;
    p = p * square + 0x1.5dba9ap-5f;
    p = p * square - 0x1.33603cp-4f;
    p = p * square + 0x1.b3da48p-4f;
    p = p * square - 0x1.22e400p-3f;
    p = p * square + 0x1.9972e8p-3f;
    p = p * square - 0x1.5554a6p-2f;
    t = (p * square) * t + t;
    t = b > a ? 0x1.921fb6p+0f - t : t;
    t = mw_f32_bits(x) >> 31 ? 0x1.921fb6p+1f - t : t;
    return copysignf(t, y);
}

/* a - b (a // b): 0, or with the sign of b. */
static inline float mw_mod_f32(float a, float b)
{
    float left = fmodf(a, b);
    return left != 0.0f && (left < 0.0f) != (b < 0.0f) ? left + b : left;
}

/* floor(a / b), but from the remainder, which is exact: a / b may be rounded up to a whole
 * number. */
static inline float mw_floor_div_f32(float a, float b)
{
    float left = fmodf(a, b), quotient = rintf((a - left) / b);
    bool is_less = left != 0.0f && (left < 0.0f) != (b < 0.0f);
    return b == 0.0f ? a / b : quotient - (is_less ? 1.0f : 0.0f);
}

/* Divisors that the machine refuses, for some dividends, are replaced by 1. */
#define MW_DIVIDE(name, type, bits)                                                                \
    static inline type mw_mod_##name(type a, type b)                                               \
    {                                                                                              \
        type left = a % (b == 0 || b == -1 ? 1 : b);                                               \
        return left != 0 && (left < 0) != (b < 0) ? left + b : left;                               \
    }                                                                                              \
    static inline type mw_floor_div_##name(type a, type b)                                         \
    {                                                                                              \
        type safe = b == 0 || b == -1 ? 1 : b, quotient = a / safe, left = a % safe;               \
        quotient -= left != 0 && (left < 0) != (b < 0);                                            \
        return b == 0 ? 0 : b == -1 ? (type)(0 - (bits)a) : quotient;                              \
    }

MW_DIVIDE(i32, int32_t, uint32_t)
MW_DIVIDE(i64, int64_t, uint64_t)

static inline float mw_sigmoid(float x)
{
    return 1.0f / (1.0f + mw_exp(-x));
}

static inline float mw_silu(float x)
{
    return x * mw_sigmoid(x);
}

/* Returns sigmoid(x); *complement is sigmoid(-x), which 1 - sigmoid(x) would round away. */
static inline float mw_sigmoid_both(float x, float *complement)
{
    float e = mw_exp(-(x < -80.0f ? -80.0f : x));
    float s = 1.0f / (1.0f + e);
    *complement = e * s;
    return s;
}

static inline float mw_silu_grad(float x)
{
    float complement, s = mw_sigmoid_both(x, &complement);
    return s + x * (s * complement);
}

/* The distribution function of the standard normal from exp(-x^2 / 2); no cancellation in the tail
 * that tends to 0. */
static inline float mw_normal_cdf(float x, float density)
{
    float z = fabsf(x) * 0x1.6a09e6p-1f;
    float tail = 0.5f * density * mw_erfcx(z > 10.0f ? 10.0f : z);
    return x < 0.0f ? tail : 1.0f - tail;
}

/* exp(-x^2 / 2) */
static inline float mw_bell(float x)
{
    return mw_exp(-0.5f * x * x);
}

static inline float mw_gelu(float x)
{
    return x * mw_normal_cdf(x, mw_bell(x));
}

static inline float mw_gelu_grad(float x)
{
    float density = mw_bell(x);
    return mw_normal_cdf(x, density) + x * (density * 0x1.988454p-2f);
}

/* gelu_tanh(x) = x (1 + tanh(u)) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) */
static inline float mw_gelu_tanh(float x)
{
    return x * mw_sigmoid(0x1.988454p+0f * (x + 0.044715f * (x * x * x)));
}

static inline float mw_gelu_tanh_grad(float x)
{
    float square = x * x, complement;
    float s = mw_sigmoid_both(0x1.988454p+0f * (x + 0.044715f * (square * x)), &complement);
    return s + x * (s * complement) * (0x1.988454p+0f * (1.0f + 0.134145f * square));
}

#endif
