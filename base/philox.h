/* SPDX-License-Identifier: MIT */
/* Random numbers that depend on a position alone. The same seed gives the same weights and
 * dropout masks with any parallelism, because every device computes the numbers of its own
 * elements.
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011): a bijection of a 128-bit counter under a 64-bit key, which gives
 * four 32-bit words. Here
 *
 *     key      the seed of the run                  (low word first)
 *     counter  words 0, 1: the block; words 2, 3: the stream   (low words first)
 *
 * Element i of a tensor, where i is its row-major index in the *global* tensor, uses block i /
 * 4:
 *
 *     weights   stream = mw_hash_bytes(the weight's name), block i / 4
 *     operators stream = key << 32 | step, block i / 4 with bit 63 set; `key` is the node's
 *               attribute, `step` counts from 1; in an evaluation it has bit 31 set, and counts its
 *               batches
 *
 *     word      words[i % 4]
 *     uniform   (word + 0.5) * 2^-32, in (0, 1)
 *     normal    Box and Muller 1958, from pairs of words (0, 1) and (2, 3) of the block: with
 *               their uniforms u, v, the even element is sqrt(-2 ln u) cos(2 pi v), the odd one
 *               has sin
 *     dropout   keeps the element if word >= floor(rate * 2^32); kept elements are multiplied by
 *               the f32 nearest to 1 / (1 - rate). In an evaluation all elements stay as they are
 *     values    floor(word / 2^8) * 2^-24, in [0, 1), an f32
 *
 * Uniforms and normals of weights are computed in double and rounded once, to the weight's type.
 * Operators need integers only, so a generated kernel agrees bit for bit with this header on
 * every machine. */
#ifndef MW_BASE_PHILOX_H
#define MW_BASE_PHILOX_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline void mw_philox(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* A number in (0, 1). */
static inline double mw_random_uniform(uint32_t word)
{
    return ((double)word + 0.5) * 0x1p-32;
}

/* Element `index` of a stream of uniforms in (0, 1). */
static inline double mw_uniform_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t word[4];
    mw_philox(seed, stream, index / 4, word);
    return mw_random_uniform(word[index % 4]);
}

/* Element `index` of a stream of standard normals. */
static inline double mw_normal_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t word[4];
    mw_philox(seed, stream, index / 4, word);
    int pair = (int)(index % 4 & 2);
    double radius = sqrt(-2 * log(mw_random_uniform(word[pair])));
    double angle = 6.283185307179586 * mw_random_uniform(word[pair + 1]);
    return radius * (index % 2 ? sin(angle) : cos(angle));
}

/* The step that kernels get: the number of the training step, and in an evaluation after it the
 * number of the evaluation's batch, from 1 on, in the upper 32 bits. */
static inline int64_t mw_kernel_step(int64_t batch, int64_t training_step)
{
    return batch << 32 | (uint32_t)training_step;
}

/* The stream of one operator in one step; `step` is what kernels get. */
static inline uint64_t mw_step_stream(uint32_t key, int64_t step)
{
    const uint32_t batch = (uint32_t)(step >> 32);
    return (uint64_t)key << 32 | (batch ? batch | UINT32_C(1) << 31 : (uint32_t)step);
}

/* Whether the stream is of an evaluation. */
static inline bool mw_stream_evaluates(uint64_t stream)
{
    return stream >> 31 & 1;
}

/* The word of an element of an operator's stream. Selects it without an index into the block, so
 * that loops over elements can be vectorised. */
static inline uint32_t mw_step_word(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t word[4];
    mw_philox(seed, stream, index / 4 | UINT64_C(1) << 63, word);
    uint32_t low = index & 1 ? word[1] : word[0], high = index & 1 ? word[3] : word[2];
    return index & 2 ? high : low;
}

/* A number in [0, 1), a multiple of 2^-24. */
static inline float mw_step_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (float)(int32_t)(mw_step_word(seed, stream, index) >> 8) * 0x1p-24f;
}

/* Words below the threshold are dropped; `rate` lies in [0, 1). */
static inline uint32_t mw_dropout_threshold(double rate)
{
    return (uint32_t)(rate * 0x1p32);
}

/* Whether the element is kept. */
static inline bool mw_dropout_keeps(uint64_t seed, uint64_t stream, uint64_t index,
                                    uint32_t threshold)
{
    return mw_stream_evaluates(stream) || mw_step_word(seed, stream, index) >= threshold;
}

/* The factor of kept elements. */
static inline float mw_dropout_scale(double rate)
{
    return (float)(1 / (1 - rate));
}

#endif
