/* SPDX-License-Identifier: MIT */
/* Elements as f32, for kernels whose matrices are f32 or bf16 by a flag. */
#ifndef MW_RUNTIME_CUDA_ELEMENT_H
#define MW_RUNTIME_CUDA_ELEMENT_H

#include "runtime/cuda/launch.h"

#include <stdint.h>

static __device__ __forceinline__ float mw_element_load(const void *from, int64_t i, int is_bf16)
{
    return is_bf16 ? __uint_as_float((unsigned)((const uint16_t *)from)[i] << 16)
                   : ((const float *)from)[i];
}

/* Rounds to the nearest bf16, ties to even; NaN stays NaN. */
static __device__ __forceinline__ void mw_element_store(void *to, int64_t i, int is_bf16,
                                                        float value)
{
    if (!is_bf16) {
        ((float *)to)[i] = value;
        return;
    }
    const unsigned bits = __float_as_uint(value);
    ((uint16_t *)to)[i] = (uint16_t)(value != value ? (bits >> 16) | 0x40
                                                    : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

#endif
