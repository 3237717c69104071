/* SPDX-License-Identifier: MIT */
/* What every unit of generated CUDA C begins with, after the functions of codegen/print/prelude.h:
 * reductions over the threads of a warp or block, and accesses of several elements at once.
 *
 * The unit is text that both CUDA C++ and C11 take (runtime/cuda/launch.h). Sums over threads are
 * trees, the same for every thread and every run. */
#ifndef MW_CODEGEN_PRINT_PRELUDE_CUDA_H
#define MW_CODEGEN_PRINT_PRELUDE_CUDA_H

#define MW_DEVICE static __inline__ __device__

/* By the exchange of lanes: every lane of a warp has the result; of parts of a warp of so many lanes
 * each, a power of two, every lane of the part. All lanes of the warp call it at once. */
#define MW_WARP_REDUCE(of, type, combined)                                                         \
    MW_DEVICE type mw_part_##of(type v, int lanes)                                                 \
    {                                                                                              \
        for (int mask = lanes / 2; mask; mask /= 2) {                                              \
            type other = __shfl_xor_sync(0xffffffffu, v, mask);                                    \
            v = combined;                                                                          \
        }                                                                                          \
        return v;                                                                                  \
    }                                                                                              \
    MW_DEVICE type mw_warp_##of(type v)                                                            \
    {                                                                                              \
        return mw_part_##of(v, 32);                                                                \
    }

MW_WARP_REDUCE(sum_f32, float, v + other)
MW_WARP_REDUCE(sum_f64, double, v + other)
MW_WARP_REDUCE(sum_i64, long long, v + other)
MW_WARP_REDUCE(max_f32, float, mw_max(v, other))
MW_WARP_REDUCE(max_i32, int, mw_max(v, other))

/* Whether no entry of `places` before this one is the same; for all lanes of a warp. */
MW_DEVICE bool mw_warp_is_first(const int *places, int entry)
{
    const int lane = (int)(threadIdx.x % 32);
    unsigned found = 0;
    for (int from = 0; from < entry && !found; from += 32)
        found =
            __ballot_sync(0xffffffffu, from + lane < entry && places[from + lane] == places[entry]);
    return !found;
}

/* Of what `warps` warps left in `shared`, for every lane of a whole warp; `none` changes nothing. */
#define MW_WARPS_REDUCE(name, type, of_warp, none, combined)                                       \
    MW_DEVICE type name(const type *shared, int warps)                                             \
    {                                                                                              \
        const int lane = (int)(threadIdx.x % 32);                                                  \
        if (warps > 8)                                                                             \
            return of_warp(lane < warps ? shared[lane] : none);                                    \
        type v = shared[0];                                                                        \
        for (int warp = 1; warp < warps; warp++) {                                                 \
            type other = shared[warp];                                                             \
            v = combined;                                                                          \
        }                                                                                          \
        return v;                                                                                  \
    }

MW_WARPS_REDUCE(mw_warps_sum_f32, float, mw_warp_sum_f32, 0.0f, v + other)
MW_WARPS_REDUCE(mw_warps_sum_f64, double, mw_warp_sum_f64, 0.0, v + other)
MW_WARPS_REDUCE(mw_warps_sum_i64, long long, mw_warp_sum_i64, 0, v + other)
MW_WARPS_REDUCE(mw_warps_max_f32, float, mw_warp_max_f32, -INFINITY, mw_max(v, other))
MW_WARPS_REDUCE(mw_warps_max_i32, int, mw_warp_max_i32, INT32_MIN, mw_max(v, other))

/* Of all threads of a block of whole warps; `shared` has a place for each warp. */
#define MW_BLOCK_REDUCE(name, type, of_warp, of_warps)                                             \
    MW_DEVICE type name(type v, type *shared)                                                      \
    {                                                                                              \
        v = of_warp(v);                                                                            \
        __syncthreads();                                                                           \
        if (threadIdx.x % 32 == 0)                                                                 \
            shared[threadIdx.x / 32] = v;                                                          \
        __syncthreads();                                                                           \
        return of_warps(shared, (int)(blockDim.x / 32));                                           \
    }

MW_BLOCK_REDUCE(mw_block_sum_f64, double, mw_warp_sum_f64, mw_warps_sum_f64)
MW_BLOCK_REDUCE(mw_block_sum_i64, long long, mw_warp_sum_i64, mw_warps_sum_i64)
MW_BLOCK_REDUCE(mw_block_max_f32, float, mw_warp_max_f32, mw_warps_max_f32)
MW_BLOCK_REDUCE(mw_block_max_i32, int, mw_warp_max_i32, mw_warps_max_i32)

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

/* How elements are cut into chunks that a block takes: those of several sets, such that a large GPU has
 * enough blocks if that takes no less than `least` a chunk, a multiple of which `most` is; and, of sums,
 * those of one set by their number alone, in at most MW_MOST_SUM_CHUNKS. */
enum { MW_MOST_SUM_CHUNKS = 256, MW_BLOCKS_WANTED = 1024 };
static __inline__ __host__ __device__ int mw_point_chunk(int64_t points, int least, int most)
{
    int chunk = most;
    while (chunk > least && points < (int64_t)chunk * MW_BLOCKS_WANTED)
        chunk /= 2;
    return chunk;
}
static __inline__ __host__ __device__ int64_t mw_sum_chunk(int64_t points)
{
    const int64_t eights = (points + 8 * MW_MOST_SUM_CHUNKS - 1) / (8 * MW_MOST_SUM_CHUNKS);
    return mw_max((int64_t)4096, eights * 8);
}

/* Neighbours that are one access, the first at a multiple of their number. */
typedef struct __attribute__((aligned(16))) {
    float at[4];
} MwFour;
typedef struct __attribute__((aligned(16))) {
    int32_t at[4];
} MwFourIntegers;
typedef struct __attribute__((aligned(8))) {
    uint16_t at[4];
} MwFourHalves;
typedef struct __attribute__((aligned(16))) {
    uint16_t at[8];
} MwEightHalves;
typedef struct __attribute__((aligned(4))) {
    uint8_t at[4];
} MwFourBytes;
typedef struct __attribute__((aligned(8))) {
    uint8_t at[8];
} MwEightBytes;

/* mw_load4_f32(x, from): four elements from `from` on as x[0] .. x[3]; mw_store4_f32(to, y). */
#define MW_LOAD(count, name, element, pack, to, value)                                             \
    MW_DEVICE void mw_load##count##_##name(to *x, const element *from)                             \
    {                                                                                              \
        enum { PACKED = sizeof(pack) / sizeof(element) };                                          \
        for (int first = 0; first < count; first += PACKED) {                                      \
            const pack all = *(const pack *)(from + first);                                        \
            for (int q = 0; q < PACKED; q++) {                                                     \
                const element e = all.at[q];                                                       \
                x[first + q] = value;                                                              \
            }                                                                                      \
        }                                                                                          \
    }
#define MW_STORE(count, name, element, pack, from, value)                                          \
    MW_DEVICE void mw_store##count##_##name(element *to, const from *y)                            \
    {                                                                                              \
        enum { PACKED = sizeof(pack) / sizeof(element) };                                          \
        for (int first = 0; first < count; first += PACKED) {                                      \
            pack all;                                                                              \
            for (int q = 0; q < PACKED; q++) {                                                     \
                const from e = y[first + q];                                                       \
                all.at[q] = value;                                                                 \
            }                                                                                      \
            *(pack *)(to + first) = all;                                                           \
        }                                                                                          \
    }

MW_LOAD(4, f32, float, MwFour, float, e)
MW_LOAD(4, bf16, uint16_t, MwFourHalves, float, mw_from_bf16(e))
MW_LOAD(4, i32, int32_t, MwFourIntegers, int32_t, e)
MW_LOAD(4, bool, uint8_t, MwFourBytes, bool, e != 0)
MW_STORE(4, f32, float, MwFour, float, e)
MW_STORE(4, bf16, uint16_t, MwFourHalves, float, mw_to_bf16(e))
MW_STORE(4, i32, int32_t, MwFourIntegers, int32_t, e)
MW_STORE(4, bool, uint8_t, MwFourBytes, bool, e)
MW_LOAD(8, f32, float, MwFour, float, e)
MW_LOAD(8, bf16, uint16_t, MwEightHalves, float, mw_from_bf16(e))
MW_LOAD(8, i32, int32_t, MwFourIntegers, int32_t, e)
MW_LOAD(8, bool, uint8_t, MwEightBytes, bool, e != 0)
MW_STORE(8, f32, float, MwFour, float, e)
MW_STORE(8, bf16, uint16_t, MwEightHalves, float, mw_to_bf16(e))
MW_STORE(8, i32, int32_t, MwFourIntegers, int32_t, e)
MW_STORE(8, bool, uint8_t, MwEightBytes, bool, e)

#endif
