/* SPDX-License-Identifier: MIT */
/* Floats of 8 bits, as the integers of their bits (OCP 8-bit Floating Point Specification, revision
 * 1.0). E4M3 has no infinity, and one NaN of either sign: its numbers end at 448. E5M2 is the upper
 * half of an f16, whose numbers end at 57344. Rounding is to nearest, ties to even; what is beyond
 * the last number becomes the last number, as NVIDIA's conversions do that are called satfinite;
 * NaN stays NaN. */
#ifndef MW_BASE_FP8_H
#define MW_BASE_FP8_H

#include "base/half.h"

/* Bytes, and elements, of which sizes and rows are multiples where GPUs multiply such matrices. */
enum { MW_FP8_STEP = 16 };

/* Of a format with `fraction` bits of fraction and the exponent bias `bias`; `last` is its last
 * number, and the integer of the bits of that. Below the least normal number, 2^(1 - bias), all are
 * multiples of 2^(1 - bias - fraction), as numbers of f32 are from 2^(24 - bias - fraction) on. */
static inline uint8_t mw_fp8_round(float value, int fraction, int bias, float last,
                                   uint8_t last_bits)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
    bits &= 0x7fffffff;
    memcpy(&value, &bits, sizeof value);
    if (value != value)
        return sign | 0x7f;
    if (value >= last)
        return sign | last_bits;
    if (bits < (uint32_t)(128 - bias) << 23) {
        const uint32_t first = (uint32_t)(127 + 24 - bias - fraction) << 23;
        float shift;
        memcpy(&shift, &first, sizeof shift);
        value += shift;
        memcpy(&bits, &value, sizeof bits);
        return (uint8_t)(sign | (bits - first));
    }
    const int dropped = 23 - fraction;
    const uint32_t half = (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
    return (uint8_t)(sign | (bits - ((uint32_t)(127 - bias) << 23) + half) >> dropped);
}

static inline uint8_t mw_e4m3_from_f32(float value)
{
    return mw_fp8_round(value, 3, 7, 448, 0x7e);
}

static inline uint8_t mw_e5m2_from_f32(float value)
{
    return mw_fp8_round(value, 2, 15, 57344, 0x7b);
}

/* The exponent is 120 less than that of an f32, which a product corrects, for numbers that are not
 * normal too. */
static inline float mw_e4m3_to_f32(uint8_t byte)
{
    uint32_t bits = (uint32_t)(byte & 0x7f) << 20;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p120f;
    memcpy(&bits, &value, sizeof bits);
    if ((byte & 0x7f) == 0x7f)
        bits = 0x7fc00000u;
    bits |= (uint32_t)(byte & 0x80) << 24;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float mw_e5m2_to_f32(uint8_t byte)
{
    return mw_f16_to_f32((uint16_t)(byte << 8));
}

/* ---- Either type ---- */

static inline float mw_fp8_to_f32(MwType type, uint8_t byte)
{
    MW_ASSERT(mw_type_is_fp8(type));
    return type == MW_E4M3 ? mw_e4m3_to_f32(byte) : mw_e5m2_to_f32(byte);
}

static inline uint8_t mw_fp8_from_f32(MwType type, float value)
{
    MW_ASSERT(mw_type_is_fp8(type));
    return type == MW_E4M3 ? mw_e4m3_from_f32(value) : mw_e5m2_from_f32(value);
}

/* Rounds once. */
static inline uint8_t mw_fp8_from_f64(MwType type, double value)
{
    return mw_fp8_from_f32(type, mw_odd_from_f64(value));
}

/* The last number of the type. */
static inline float mw_fp8_last(MwType type)
{
    MW_ASSERT(mw_type_is_fp8(type));
    return type == MW_E4M3 ? 448 : 57344;
}

#endif
