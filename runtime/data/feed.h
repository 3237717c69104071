/* SPDX-License-Identifier: MIT */
/* The data of a run: where each input's elements come from. What a feed gives depends on the seed,
 * the step and the element's place in the global batch alone, so that a run has the same data at
 * every parallelism.
 *
 *     lm:FILE, lm16:FILE         windows of a text into `tokens`, and shifted by one into `targets`;
 *                                a token is a byte, or 16 bits, little-endian
 *     npy:NAME=FILE,...          rows of a .npy file, one batch after another, round and round
 *     random, random:NAME=BOUND  floats in [-1, 1), integers in [0, BOUND) */
#ifndef MW_RUNTIME_DATA_FEED_H
#define MW_RUNTIME_DATA_FEED_H

#include "runtime/exec/fault.h"
#include "runtime/plan/box.h"
#include "runtime/plan/plan.h"

typedef struct MwFeeds MwFeeds;

/* Opens `texts`, each the value of one --feed, for the inputs of one of the plan's meshes. An input
 * is fed by the first that has it; one that none has is a fault. What is for inputs of other meshes
 * is left to those. NULL after a fault. */
MwFeeds *mw_feeds_open(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh,
                       const char *const *texts, int count, uint64_t seed, MwFault *fault);
/* As MwExecutorData.input. */
bool mw_feeds_input(MwFeeds *feeds, int input, int64_t step, const MwBox *box, void *to,
                    MwFault *fault);
void mw_feeds_close(MwFeeds **feeds);

#endif
