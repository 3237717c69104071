/* SPDX-License-Identifier: MIT */
/* Floats of 16 bits, as the integers of their bits. bf16 is the upper half of an f32. Rounding is
 * to nearest, ties to even, and NaN stays NaN. */
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

/* ---- Either type ---- */

static inline float mw_half_to_f32(MwType type, uint16_t half)
{
    MW_ASSERT(type == MW_BF16);
    return mw_bf16_to_f32(half);
}

static inline uint16_t mw_half_from_f32(MwType type, float value)
{
    MW_ASSERT(type == MW_BF16);
    return mw_bf16_from_f32(value);
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
