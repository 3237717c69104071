/* SPDX-License-Identifier: MIT */
/* What every unit of generated CUDA C begins with, after the functions of codegen/prelude.h:
 * reductions over the threads of a warp or block, and accesses of four elements at once.
 *
 * The unit is text that both CUDA C++ and C11 take (runtime/cuda_launch.h). Sums over threads are
 * trees, the same for every thread and every run. */
#ifndef MW_CODEGEN_PRELUDE_CUDA_H
#define MW_CODEGEN_PRELUDE_CUDA_H

#define MW_DEVICE static __inline__ __device__

/* By the exchange of lanes: every lane of a warp has the result. */
#define MW_WARP_REDUCE(name, type, combined)                                                       \
    MW_DEVICE type name(type v)                                                                    \
    {                                                                                              \
        for (int mask = 16; mask; mask /= 2) {                                                     \
            type other = __shfl_xor_sync(0xffffffffu, v, mask);                                    \
            v = combined;                                                                          \
        }                                                                                          \
        return v;                                                                                  \
    }

MW_WARP_REDUCE(mw_warp_sum_f64, double, v + other)
MW_WARP_REDUCE(mw_warp_sum_i64, long long, v + other)
MW_WARP_REDUCE(mw_warp_max_f32, float, mw_max(v, other))
MW_WARP_REDUCE(mw_warp_max_i32, int, mw_max(v, other))

/* Of all threads of a block of whole warps; `shared` has a place for each warp. */
#define MW_BLOCK_REDUCE(name, type, of_warp, combined)                                             \
    MW_DEVICE type name(type v, type *shared)                                                      \
    {                                                                                              \
        v = of_warp(v);                                                                            \
        __syncthreads();                                                                           \
        if (threadIdx.x % 32 == 0)                                                                 \
            shared[threadIdx.x / 32] = v;                                                          \
        __syncthreads();                                                                           \
        v = shared[0];                                                                             \
        for (unsigned warp = 1; warp < blockDim.x / 32; warp++) {                                  \
            type other = shared[warp];                                                             \
            v = combined;                                                                          \
        }                                                                                          \
        return v;                                                                                  \
    }

MW_BLOCK_REDUCE(mw_block_sum_f64, double, mw_warp_sum_f64, v + other)
MW_BLOCK_REDUCE(mw_block_sum_i64, long long, mw_warp_sum_i64, v + other)
MW_BLOCK_REDUCE(mw_block_max_f32, float, mw_warp_max_f32, mw_max(v, other))
MW_BLOCK_REDUCE(mw_block_max_i32, int, mw_warp_max_i32, mw_max(v, other))

/* Of the threads of a block that are the same lane of their warps; `shared` has a place for each
 * thread. */
#define MW_LANES_REDUCE(name, type, combined)                                                      \
    MW_DEVICE type name(type v, type *shared)                                                      \
    {                                                                                              \
        const unsigned lane = threadIdx.x % 32;                                                    \
        __syncthreads();                                                                           \
        shared[threadIdx.x] = v;                                                                   \
        __syncthreads();                                                                           \
        v = shared[lane];                                                                          \
        for (unsigned at = lane + 32; at < blockDim.x; at += 32) {                                 \
            type other = shared[at];                                                               \
            v = combined;                                                                          \
        }                                                                                          \
        return v;                                                                                  \
    }

MW_LANES_REDUCE(mw_lanes_sum_f64, double, v + other)
MW_LANES_REDUCE(mw_lanes_sum_i64, long long, v + other)
MW_LANES_REDUCE(mw_lanes_max_f32, float, mw_max(v, other))
MW_LANES_REDUCE(mw_lanes_max_i32, int, mw_max(v, other))

/* Four elements in a row, the first at a multiple of four of them. */
typedef struct __attribute__((aligned(16))) {
    float at[4];
} MwFour;
typedef struct __attribute__((aligned(8))) {
    uint16_t at[4];
} MwFourHalves;
typedef struct __attribute__((aligned(16))) {
    int32_t at[4];
} MwFourIntegers;
typedef struct __attribute__((aligned(4))) {
    uint8_t at[4];
} MwFourBytes;

#define MW_LOAD4(name, element, four, to, value)                                                   \
    MW_DEVICE void mw_load4_##name(to *x, const element *from)                                     \
    {                                                                                              \
        const four all = *(const four *)from;                                                      \
        for (int q = 0; q < 4; q++) {                                                              \
            const element e = all.at[q];                                                           \
            x[q] = value;                                                                          \
        }                                                                                          \
    }
#define MW_STORE4(name, element, four, from, value)                                                \
    MW_DEVICE void mw_store4_##name(element *to, const from *y)                                    \
    {                                                                                              \
        four all;                                                                                  \
        for (int q = 0; q < 4; q++) {                                                              \
            const from e = y[q];                                                                   \
            all.at[q] = value;                                                                     \
        }                                                                                          \
        *(four *)to = all;                                                                         \
    }

MW_LOAD4(f32, float, MwFour, float, e)
MW_LOAD4(bf16, uint16_t, MwFourHalves, float, mw_from_bf16(e))
MW_LOAD4(i32, int32_t, MwFourIntegers, int32_t, e)
MW_LOAD4(bool, uint8_t, MwFourBytes, bool, e != 0)
MW_STORE4(f32, float, MwFour, float, e)
MW_STORE4(bf16, uint16_t, MwFourHalves, float, mw_to_bf16(e))
MW_STORE4(i32, int32_t, MwFourIntegers, int32_t, e)
MW_STORE4(bool, uint8_t, MwFourBytes, bool, e)

#endif
