/* SPDX-License-Identifier: MIT */
/* One element of a tensor as it lies in memory. */
#ifndef MW_BASE_ELEMENT_H
#define MW_BASE_ELEMENT_H

#include "base/fp8.h"
#include "base/half.h"
#include "base/tensor.h"

/* Returns element i of an array of integers or bools. */
static inline int64_t mw_element_integer(MwType type, const void *from, int64_t i)
{
    switch (type) {
    case MW_I32:
        return ((const int32_t *)from)[i];
    case MW_BOOL:
        return ((const bool *)from)[i];
    case MW_I64:
        return ((const int64_t *)from)[i];
    case MW_I8:
        return ((const int8_t *)from)[i];
    case MW_U8:
        return ((const uint8_t *)from)[i];
    case MW_F32:
    case MW_BF16:
    case MW_F16:
    case MW_TF32:
    case MW_E4M3:
    case MW_E5M2:
    case MW_FP8:
    case MW_TYPE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

/* Stores the low bits of `value`, so that sums wrap; of a bool, whether it is not 0. */
static inline void mw_element_put_integer(MwType type, void *to, int64_t i, int64_t value)
{
    switch (type) {
    case MW_I32:
        ((int32_t *)to)[i] = (int32_t)value;
        return;
    case MW_BOOL:
        ((bool *)to)[i] = value != 0;
        return;
    case MW_I64:
        ((int64_t *)to)[i] = value;
        return;
    case MW_I8:
        ((int8_t *)to)[i] = (int8_t)value;
        return;
    case MW_U8:
        ((uint8_t *)to)[i] = (uint8_t)value;
        return;
    case MW_F32:
    case MW_BF16:
    case MW_F16:
    case MW_TF32:
    case MW_E4M3:
    case MW_E5M2:
    case MW_FP8:
    case MW_TYPE_COUNT:
        break;
    }
    MW_UNREACHABLE();
}

static inline double mw_element_get(MwType type, const void *from, int64_t i)
{
    if (type == MW_F32)
        return (double)((const float *)from)[i];
    if (mw_type_is_fp8(type))
        return (double)mw_fp8_to_f32(type, ((const uint8_t *)from)[i]);
    if (mw_type_is_float(type))
        return (double)mw_half_to_f32(type, ((const uint16_t *)from)[i]);
    return (double)mw_element_integer(type, from, i);
}

/* Rounds `value` once to a float; makes another type of it as mw_type_clamp does. */
static inline void mw_element_put(MwType type, void *to, int64_t i, double value)
{
    if (type == MW_F32) {
        ((float *)to)[i] = (float)value;
        return;
    }
    if (mw_type_is_fp8(type)) {
        ((uint8_t *)to)[i] = mw_fp8_from_f64(type, value);
        return;
    }
    if (mw_type_is_float(type)) {
        ((uint16_t *)to)[i] = mw_half_from_f64(type, value);
        return;
    }
    value = mw_type_clamp(type, value);
    mw_element_put_integer(type, to, i, value >= 0x1p63 ? INT64_MAX : (int64_t)value);
}

#endif
