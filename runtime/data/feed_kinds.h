/* SPDX-License-Identifier: MIT */
/* The kinds of feeds: each generates or reads the elements of one input. */
#ifndef MW_RUNTIME_DATA_FEED_KINDS_H
#define MW_RUNTIME_DATA_FEED_KINDS_H

#include "runtime/data/feed_file.h"
#include "runtime/data/npy.h"
#include "runtime/plan/plan.h"

typedef struct MwFeed MwFeed;
struct MwFeed {
    /* Writes elements [first, first + count) of the batch of `step` to `to`. NULL: the input has no
     * feed. */
    bool (*fill)(const MwFeed *feed, int64_t step, int64_t first, int64_t count, void *to,
                 MwFault *fault);
    const MwPlanInput *input;
    uint64_t seed, stream; /* of random numbers (base/philox.h) */
    MwFeedFile file;       /* lm, npy */
    int64_t row;           /* elements of one row of the batch */
    int64_t bound;         /* random: integers are in [0, bound) */
    int token_bytes;       /* lm */
    int shift; /* lm: distance from the beginning of the window to the first token given */
    MwNpy npy; /* npy: header of the file */
};

/* Each initializes `feed`, whose input, seed and row are set. False after a fault. */
bool mw_feed_lm(MwFeed *feed, const MwFeedFile *file, int token_bytes, MwFault *fault);
bool mw_feed_npy(MwFeed *feed, const MwFeedFile *file, MwFault *fault);
bool mw_feed_random(MwFeed *feed, int64_t bound, MwFault *fault);

/* Reads what the file of an array says of itself. */
bool mw_feed_npy_header(const MwFeedFile *file, MwNpy *npy, MwFault *fault);

/* Number of rows of the batch; 1 for an input that is no part of it. */
static inline int64_t mw_feed_batch(const MwFeed *feed)
{
    return feed->input->whole ? 1 : feed->input->global.dim[0];
}

#endif
