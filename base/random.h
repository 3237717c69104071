/* SPDX-License-Identifier: MIT */
/* Counter-based random numbers: a pure function of seed, stream, step and position, so that every
 * rank, at every parallelism and on every device, finds the same number for the same element.
 *
 * Philox 4x32 with 10 rounds: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
 * 2011. The text is plain C on fixed-width integers, without branches, because the compiler embeds
 * it in the kernels it generates and wants their loops vectorised. */
#ifndef MW_BASE_RANDOM_H
#define MW_BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t word[4];
} MwRandomBlock;

/* 128 random bits. `stream` tells apart the uses of one seed: the key of a dropout, say, or a
 * weight. `step` is 0 where nothing changes by step. `position` is an element's row-major place in
 * its global tensor. */
static inline MwRandomBlock mw_random_block(uint64_t seed, uint32_t stream, uint32_t step,
                                            uint64_t position)
{
    uint32_t c0 = (uint32_t)position, c1 = (uint32_t)(position >> 32), c2 = step, c3 = stream;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (MwRandomBlock){{c0, c1, c2, c3}};
}

/* In (0, 1), from one word of a block: the middle of one of 2^23 equal parts, exact in a float. */
static inline float mw_random_unit(uint32_t word)
{
    return ((float)(int32_t)(word >> 9) + 0.5f) * 0x1p-23f;
}

/* Whether dropout keeps the element: false with probability `rate`, stream being its key. */
static inline bool mw_random_keep(uint64_t seed, uint32_t stream, uint32_t step, uint64_t position,
                                  float rate)
{
    return mw_random_unit(mw_random_block(seed, stream, step, position).word[0]) >= rate;
}

#endif
