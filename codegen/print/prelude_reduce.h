/* SPDX-License-Identifier: MIT */
/* Reductions over the threads of a warp or block: a part of the text that every unit of generated
 * CUDA C begins with (codegen/print/meson.build lists the parts in order). It comes after the
 * functions of codegen/print/prelude.h, and has no include guard, because it is embedded and never
 * included.
 *
 * The text is such that CUDA C++ and C11 both take it (runtime/cuda/launch.h). Sums over threads
 * are trees, the same for every thread and every run. */
#define MW_DEVICE static __inline__ __device__

/* Reduces over the lanes of each part of a warp by exchange; a part has a power of two lanes, at
 * most all 32. Every lane of a part gets its result. All lanes of the warp call it at once. */
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
MW_WARP_REDUCE(max_f32, float, mw_max_f32(v, other))
MW_WARP_REDUCE(max_i32, int, mw_max(v, other))
MW_WARP_REDUCE(max_i64, long long, mw_max(v, other))

/* Says whether no entry of `places` before this one is the same; for all lanes of a warp. */
MW_DEVICE bool mw_warp_is_first(const int *places, int entry)
{
    const int lane = (int)(threadIdx.x % 32);
    unsigned found = 0;
    for (int from = 0; from < entry && !found; from += 32)
        found =
            __ballot_sync(0xffffffffu, from + lane < entry && places[from + lane] == places[entry]);
    return !found;
}

/* Reduces what `warps` warps left in `shared`; every lane of a whole warp gets the result. `none`
 * is the neutral element. */
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
MW_WARPS_REDUCE(mw_warps_max_f32, float, mw_warp_max_f32, -INFINITY, mw_max_f32(v, other))
MW_WARPS_REDUCE(mw_warps_max_i32, int, mw_warp_max_i32, INT32_MIN, mw_max(v, other))
MW_WARPS_REDUCE(mw_warps_max_i64, long long, mw_warp_max_i64, INT64_MIN, mw_max(v, other))

/* Reduces over all threads of a block of whole warps; `shared` has a place for each warp. */
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
MW_BLOCK_REDUCE(mw_block_max_i64, long long, mw_warp_max_i64, mw_warps_max_i64)

/* Reduces over the threads of a block that are the same lane of their warps; `shared` has a place
 * for each thread. */
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
MW_LANES_REDUCE(mw_lanes_max_f32, float, mw_max_f32(v, other))
MW_LANES_REDUCE(mw_lanes_max_i32, int, mw_max(v, other))
MW_LANES_REDUCE(mw_lanes_max_i64, long long, mw_max(v, other))
