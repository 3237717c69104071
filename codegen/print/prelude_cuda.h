/* SPDX-License-Identifier: MIT */
/* Chunks of flat kernels, and accesses of several elements at once: the last part of the text that
 * every unit of generated CUDA C begins with (codegen/print/prelude_reduce.h). */
#ifndef MW_CODEGEN_PRINT_PRELUDE_CUDA_H
#define MW_CODEGEN_PRINT_PRELUDE_CUDA_H

/* Returns how many of the `points` of all sets a block takes: `most`, or as often halved, down to
 * `least`, as there would be too few blocks. `most` is `least` times a power of two. */
static __inline__ __host__ __device__ int mw_point_chunk(int64_t points, int least, int most)
{
    int chunk = most;
    while (chunk > least && points < (int64_t)chunk * MW_BLOCKS_WANTED)
        chunk /= 2;
    return chunk;
}
/* Returns how many elements of a set a block adds up. It depends on their number alone, and is a
 * multiple of 8, at least 4096. */
static __inline__ __host__ __device__ int64_t mw_sum_chunk(int64_t points)
{
    const int64_t eights = (points + 8 * MW_MOST_SUM_CHUNKS - 1) / (8 * MW_MOST_SUM_CHUNKS);
    return mw_max((int64_t)4096, eights * 8);
}

/* Neighbours that one access loads or stores; the first lies at a multiple of their number. */
typedef struct __attribute__((aligned(16))) {
    float at[4];
} MwFour;
typedef struct __attribute__((aligned(16))) {
    int32_t at[4];
} MwFourIntegers;
typedef struct __attribute__((aligned(16))) {
    int64_t at[2];
} MwTwoIntegers;
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
MW_LOAD(4, f16, uint16_t, MwFourHalves, float, mw_from_f16(e))
MW_LOAD(4, e4m3, uint8_t, MwFourBytes, float, mw_from_e4m3(e))
MW_LOAD(4, e5m2, uint8_t, MwFourBytes, float, mw_from_e5m2(e))
MW_LOAD(4, i32, int32_t, MwFourIntegers, int32_t, e)
MW_LOAD(4, bool, uint8_t, MwFourBytes, bool, e != 0)
MW_LOAD(4, i64, int64_t, MwTwoIntegers, int64_t, e)
MW_LOAD(4, i8, int8_t, MwFourBytes, int32_t, (int8_t)e)
MW_LOAD(4, u8, uint8_t, MwFourBytes, int32_t, e)
MW_STORE(4, f32, float, MwFour, float, e)
MW_STORE(4, bf16, uint16_t, MwFourHalves, float, mw_to_bf16(e))
MW_STORE(4, f16, uint16_t, MwFourHalves, float, mw_to_f16(e))
MW_STORE(4, e4m3, uint8_t, MwFourBytes, float, mw_to_e4m3(e))
MW_STORE(4, e5m2, uint8_t, MwFourBytes, float, mw_to_e5m2(e))
MW_STORE(4, i32, int32_t, MwFourIntegers, int32_t, e)
MW_STORE(4, bool, uint8_t, MwFourBytes, bool, e)
MW_STORE(4, i64, int64_t, MwTwoIntegers, int64_t, e)
MW_STORE(4, i8, int8_t, MwFourBytes, int32_t, (uint8_t)e)
MW_STORE(4, u8, uint8_t, MwFourBytes, int32_t, (uint8_t)e)
MW_LOAD(8, f32, float, MwFour, float, e)
MW_LOAD(8, bf16, uint16_t, MwEightHalves, float, mw_from_bf16(e))
MW_LOAD(8, f16, uint16_t, MwEightHalves, float, mw_from_f16(e))
MW_LOAD(8, e4m3, uint8_t, MwEightBytes, float, mw_from_e4m3(e))
MW_LOAD(8, e5m2, uint8_t, MwEightBytes, float, mw_from_e5m2(e))
MW_LOAD(8, i32, int32_t, MwFourIntegers, int32_t, e)
MW_LOAD(8, bool, uint8_t, MwEightBytes, bool, e != 0)
MW_LOAD(8, i64, int64_t, MwTwoIntegers, int64_t, e)
MW_LOAD(8, i8, int8_t, MwEightBytes, int32_t, (int8_t)e)
MW_LOAD(8, u8, uint8_t, MwEightBytes, int32_t, e)
MW_STORE(8, f32, float, MwFour, float, e)
MW_STORE(8, bf16, uint16_t, MwEightHalves, float, mw_to_bf16(e))
MW_STORE(8, f16, uint16_t, MwEightHalves, float, mw_to_f16(e))
MW_STORE(8, e4m3, uint8_t, MwEightBytes, float, mw_to_e4m3(e))
MW_STORE(8, e5m2, uint8_t, MwEightBytes, float, mw_to_e5m2(e))
MW_STORE(8, i32, int32_t, MwFourIntegers, int32_t, e)
MW_STORE(8, bool, uint8_t, MwEightBytes, bool, e)
MW_STORE(8, i64, int64_t, MwTwoIntegers, int64_t, e)
MW_STORE(8, i8, int8_t, MwEightBytes, int32_t, (uint8_t)e)
MW_STORE(8, u8, uint8_t, MwEightBytes, int32_t, (uint8_t)e)

#endif
