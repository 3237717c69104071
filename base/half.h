/* SPDX-License-Identifier: MIT */
/* Floats of 16 bits, as the integers of their bits. bf16 is the upper half of an f32; f16 is
 * binary16 of IEEE 754, whose numbers end at 65504. Rounding is to nearest, ties to even, and NaN
 * stays NaN. */
#ifndef MW_BASE_HALF_H
#define MW_BASE_HALF_H

#include "base/tensor.h"

#include <stdint.h>
#include <string.h>

static inline float mw_bf16_to_f32(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t mw_bf16_from_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The 10 bits of the fraction become the upper ones of 23; the exponent is 112 less than that of an
 * f32, which a product corrects, for numbers that are not normal too. */
static inline float mw_f16_to_f32(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    if ((half & 0x7c00) == 0x7c00)
        bits |= 0x7f800000u;
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Below 2^-14 the numbers of f16 are multiples of 2^-24, as those of f32 are from 1/2 to 1. */
static inline uint16_t mw_f16_from_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000u)
        return sign | 0x7e00;
    if (bits >= 0x47800000u) /* 2^16 */
        return sign | 0x7c00;
    if (bits < 0x38800000u) { /* 2^-14 */
        float shifted;
        memcpy(&shifted, &bits, sizeof shifted);
        shifted += 0.5f;
        memcpy(&bits, &shifted, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    return (uint16_t)(sign | ((bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13));
}

/* What products take of an f32 as tf32: rounded to nearest, ties away from zero, as cvt.rna of PTX
 * does. Infinity and NaN stay. */
static inline float mw_tf32_from_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u)
        bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- Either type ---- */

static inline float mw_half_to_f32(MwType type, uint16_t half)
{
    MW_ASSERT(mw_type_is_half(type));
    return type == MW_BF16 ? mw_bf16_to_f32(half) : mw_f16_to_f32(half);
}

static inline uint16_t mw_half_from_f32(MwType type, float value)
{
    MW_ASSERT(mw_type_is_half(type));
    return type == MW_BF16 ? mw_bf16_from_f32(value) : mw_f16_from_f32(value);
}

/* Returns `value` rounded to odd, which keeps the bits that decide a tie when it is rounded
 * again. */
static inline float mw_odd_from_f64(double value)
{
    float near = (float)value;
    if ((double)near == value || value != value || near - near != 0)
        return near;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if ((near < 0 ? -(double)near : (double)near) > (value < 0 ? -value : value))
        bits--;
    bits |= 1;
    memcpy(&near, &bits, sizeof near);
    return near;
}

/* Rounds once. */
static inline uint16_t mw_half_from_f64(MwType type, double value)
{
    return mw_half_from_f32(type, mw_odd_from_f64(value));
}

#endif
