/* SPDX-License-Identifier: MIT */
/* The kinds of feeds: each generates or reads the elements of one input. */
#ifndef MW_RUNTIME_FEED_FEED_KINDS_H
#define MW_RUNTIME_FEED_FEED_KINDS_H

#include "runtime/feed/feed_rows.h"

typedef struct MwFeed MwFeed;
struct MwFeed {
    /* Writes elements [first, first + count) of the batch of `step` to `to`. NULL: the input has no
     * feed. */
    bool (*fill)(const MwFeed *feed, int64_t step, int64_t first, int64_t count, void *to,
                 MwFault *fault);
    /* Says in which file an element of the batch is, and where. NULL: it is in none. */
    void (*place)(const MwFeed *feed, int64_t step, int64_t element,
                  char text[MW_FEED_PLACE_BYTES]);
    const MwPlanInput *input;
    uint64_t seed, stream; /* of random numbers (base/philox.h) */
    int64_t row;           /* elements of one row of the batch */
    MwFeedFile file;       /* lm */
    int token_bytes;       /* lm */
    int shift;             /* lm: distance from the beginning of the window to its first token */
    int64_t bound;         /* random: integers are in [0, bound) */
    MwFeedRows rows;       /* rows */
    MwRowOrder order;      /* rows */
};

/* Each initializes `feed`, whose input, seed and row are set. False after a fault. */
bool mw_feed_lm(MwFeed *feed, const MwFeedFile *file, int token_bytes, MwFault *fault);
bool mw_feed_random(MwFeed *feed, int64_t bound, MwFault *fault);
/* Who calls it sets `order`, too: that of the rows of all inputs of the batch; for an input that is
 * no part of it, one of its own, by which each step takes a row. */
void mw_feed_in_rows(MwFeed *feed, const MwFeedRows *rows);

#endif
