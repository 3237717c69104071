/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recomputation of some layers of a stage. Between two levels of recomputation (passes/staging.h)
 * lie candidates in which some layers are on the higher one: those first that save the most memory
 * per second. The gain of a layer is estimated from samples of that layer alone. */
#ifndef MW_PASSES_STAGES_REMAT_GAINS_H
#define MW_PASSES_STAGES_REMAT_GAINS_H

#include "passes/stages/sample_set.h"

/* What taking one layer to a level of recomputation from the one below saves and takes, of a
 * micro-batch. */
typedef struct {
    int layer;
    double bytes, time_s;
} MwRematGain;

/* Queues the samples that the gains of layers [begin, end) follow from, on all levels. */
void mw_remat_gains_request(MwStageSampleSet *set, int begin, int end, const MwStageSample *like);

/* [end - begin] gains of layers [begin, end) from taking them to `level`, best first. The samples
 * are solved. */
MwRematGain *mw_remat_gains(MwStageSampleSet *set, MwArena *arena, int begin, int end,
                            const MwStageSample *like, MwRematLevel level);

/* The cost with the layers of the first `count` of `gains` on the level of `all`, the others on the
 * level of `none`, interpolated by their shares of the total gain. */
MwStageCost mw_remat_mix(const MwStageCost *none, const MwStageCost *all, const MwRematGain *gains,
                         int count, bool is_sequential);

#endif
