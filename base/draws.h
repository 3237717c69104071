/* SPDX-License-Identifier: MIT */
/* Random numbers of a search, drawn from a stream. The same seed and stream give the same
 * numbers, whatever is drawn from other streams. */
#ifndef MW_BASE_DRAWS_H
#define MW_BASE_DRAWS_H

#include "base/philox.h"

typedef struct {
    uint64_t seed, stream, counter;
} MwDraws;

static inline uint32_t mw_draw_word(MwDraws *draws)
{
    uint32_t words[4];
    mw_philox(draws->seed, draws->stream, draws->counter++, words);
    return words[0];
}

/* A number in [0, count). */
static inline int mw_draw_below(MwDraws *draws, int count)
{
    return (int)((uint64_t)mw_draw_word(draws) * (uint64_t)count >> 32);
}

/* A number in (0, 1). */
static inline double mw_draw_uniform(MwDraws *draws)
{
    return mw_random_uniform(mw_draw_word(draws));
}

#endif
