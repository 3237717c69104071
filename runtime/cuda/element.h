/* SPDX-License-Identifier: MIT */
/* Elements as f32, for kernels whose matrices are f32, bf16 or f16 by an argument. */
#ifndef MW_RUNTIME_CUDA_ELEMENT_H
#define MW_RUNTIME_CUDA_ELEMENT_H

#include "base/tensor.h"
#include "runtime/cuda/half.h"
#include "runtime/cuda/launch.h"

#include <stdint.h>

/* `type` is an MwType. */
static __device__ __forceinline__ float mw_element_load(const void *from, int64_t i, int type)
{
    if (type == MW_F32)
        return ((const float *)from)[i];
    const uint16_t half = ((const uint16_t *)from)[i];
    return type == MW_BF16 ? __uint_as_float((unsigned)half << 16) : mw_half_load(half);
}

/* Rounds to the nearest, ties to even; NaN stays NaN. */
static __device__ __forceinline__ void mw_element_store(void *to, int64_t i, int type, float value)
{
    if (type == MW_F32) {
        ((float *)to)[i] = value;
        return;
    }
    const unsigned bits = __float_as_uint(value);
    const unsigned rounded =
        value != value ? (bits >> 16) | 0x40 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    ((uint16_t *)to)[i] = type == MW_BF16 ? (uint16_t)rounded : mw_half_store(value);
}

#endif
