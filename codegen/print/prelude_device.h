/* SPDX-License-Identifier: MIT */
/* Functions of codegen/print/prelude.h for which a GPU has instructions, as macros with their names
 * that come before it and after runtime/cuda/half.h. With halves in and out, the memory of an H200
 * leaves time for 24 instructions a point: too few for an exponential of 20 and a rounding of 7. */
#ifndef MW_CODEGEN_PRINT_PRELUDE_DEVICE_H
#define MW_CODEGEN_PRINT_PRELUDE_DEVICE_H

/* Within 2 units in the last place. */
#define mw_exp(x) expf(x)

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
static __inline__ __device__ uint16_t mw_device_to_bf16(float value)
{
    uint16_t half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#define mw_to_bf16(value) mw_device_to_bf16(value)
/* One instruction, where comparisons and a choice are four. */
static __inline__ __device__ float mw_device_max(float a, float b)
{
    float max;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(max) : "f"(a), "f"(b));
    return max;
}
#define mw_max_f32(a, b) mw_device_max(a, b)
#endif

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890)
/* The instructions convert two numbers: the lower one is that of the second operand. */
static __inline__ __device__ uint8_t mw_device_to_e4m3(float value)
{
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return (uint8_t)pair;
}

static __inline__ __device__ uint8_t mw_device_to_e5m2(float value)
{
    uint16_t pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return (uint8_t)pair;
}
#define mw_to_e4m3(value) mw_device_to_e4m3(value)
#define mw_to_e5m2(value) mw_device_to_e5m2(value)
#endif

#ifdef __CUDACC__
#define mw_to_f16(value) mw_half_store(value)
#define mw_from_f16(half) mw_half_load(half)
#endif

#endif
