/* SPDX-License-Identifier: MIT */
/* Feeds: where the elements of each input of a run come from. They depend only on the seed, the
 * step and the element's position in the global batch, so that a run has the same data at every
 * parallelism.
 *
 *     lm:FILE, lm16:FILE         windows of a text at random places into `tokens`, and shifted by
 *                                one into `targets`; a token is a byte, or 16 bits, little-endian
 *     tokens:FILE,...            rows of a file of tokens (runtime/data/tokens.h) into `tokens`,
 *                                and shifted by one into `targets`, or into inputs that are named.
 *                                tokens16 and tokens32 read files without a header
 *     npy:NAME=FILE,...          rows of .npy files
 *     npz:FILE,...               rows of the arrays of .npz files, each of the input of its name
 *     random, random:NAME=BOUND  floats in [-1, 1), integers in [0, BOUND)
 *
 * The rows of all inputs of the batch go together: there are equally many of each, in one order
 * (runtime/feed/row_order.h). The first row follows the last. */
#ifndef MW_RUNTIME_FEED_FEED_H
#define MW_RUNTIME_FEED_FEED_H

#include "runtime/exec/fault.h"
#include "runtime/plan/box.h"
#include "runtime/plan/plan.h"

typedef struct MwFeeds MwFeeds;

/* What the command line asks for. */
typedef struct {
    const char *const *texts; /* [count] values of --feed, or of --eval-feed */
    int count;
    uint64_t seed;
    bool is_shuffled;   /* rows are taken in another order in each epoch */
    const char *option; /* "--feed", for messages */
} MwFeedsWanted;

/* Opens the feeds of one mesh. An input takes the first feed that has it; an input that none has is
 * a fault. Feeds of inputs of other meshes are ignored. NULL after a fault. */
MwFeeds *mw_feeds_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                       const MwFeedsWanted *wanted, MwFault *fault);
/* Number of rows of the data: of an epoch. 0 where no file that this rank can read has rows of an
 * input of the batch. */
int64_t mw_feeds_rows(const MwFeeds *feeds);
/* Number of them that a step takes, where there are any. */
int64_t mw_feeds_batch(const MwFeeds *feeds);
/* Gives the executor an input (MwExecutorData.input). A fault names the step and the input. */
bool mw_feeds_input(const MwFeeds *feeds, int input, int64_t step, const MwBox *box, void *to,
                    MwFault *fault);
void mw_feeds_close(MwFeeds **feeds);

#endif
