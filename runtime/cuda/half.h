/* SPDX-License-Identifier: MIT */
/* f16 from and to f32 by a GPU's instructions, for kernels by hand and for printed ones. For a C
 * compiler, tests/kernels/cuda_shim.h has functions with the same names and meaning. */
#ifndef MW_RUNTIME_CUDA_HALF_H
#define MW_RUNTIME_CUDA_HALF_H

#include <stdint.h>

#ifdef __CUDACC__
static __inline__ __device__ float mw_half_load(uint16_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

static __inline__ __device__ uint16_t mw_half_store(float value)
{
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#endif

#endif
