/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One element of a tensor as it lies in memory, to and from a double. */
#ifndef MW_TESTS_REFERENCE_ELEMENT_H
#define MW_TESTS_REFERENCE_ELEMENT_H

#include "base/bf16.h"
#include "base/tensor.h"

/* Rounded to `type`; anything but 0 is true. */
static inline void element_store(MwType type, void *to, int64_t i, double value)
{
    if (type == MW_F32)
        ((float *)to)[i] = (float)value;
    else if (type == MW_BF16)
        ((uint16_t *)to)[i] = mw_bf16_from_f32((float)value);
    else if (type == MW_I32)
        ((int32_t *)to)[i] = (int32_t)value;
    else
        ((bool *)to)[i] = value != 0;
}

static inline double element_load(MwType type, const void *from, int64_t i)
{
    if (type == MW_F32)
        return (double)((const float *)from)[i];
    if (type == MW_BF16)
        return (double)mw_bf16_to_f32(((const uint16_t *)from)[i]);
    if (type == MW_I32)
        return ((const int32_t *)from)[i];
    return ((const bool *)from)[i];
}

#endif
