/* SPDX-License-Identifier: MIT */
/* Feeds: where the elements of each input of a run come from. They depend only on the seed, the
 * step and the element's position in the global batch, so that a run has the same data at every
 * parallelism.
 *
 *     lm:FILE, lm16:FILE         windows of a text into `tokens`, and shifted by one into
 *                                `targets`; a token is a byte, or 16 bits, little-endian
 *     npy:NAME=FILE,...          rows of a .npy file, batch after batch; the first follows the
 *                                last. Files of inputs of the batch have equally many
 *     random, random:NAME=BOUND  floats in [-1, 1), integers in [0, BOUND) */
#ifndef MW_RUNTIME_DATA_FEED_H
#define MW_RUNTIME_DATA_FEED_H

#include "runtime/exec/fault.h"
#include "runtime/plan/box.h"
#include "runtime/plan/plan.h"

typedef struct MwFeeds MwFeeds;

/* Opens the feeds of one mesh. `texts` are the values of --feed. An input takes the first feed that
 * has it; an input that none has is a fault. Feeds of inputs of other meshes are ignored. NULL
 * after a fault. */
MwFeeds *mw_feeds_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                       const char *const *texts, int count, uint64_t seed, MwFault *fault);
/* Gives the executor an input (MwExecutorData.input). */
bool mw_feeds_input(MwFeeds *feeds, int input, int64_t step, const MwBox *box, void *to,
                    MwFault *fault);
void mw_feeds_close(MwFeeds **feeds);

#endif
