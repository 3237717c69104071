/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model in each number of micro-batches that may be chosen, and how good that can be. */
#ifndef MW_PASSES_STAGES_BATCHING_H
#define MW_PASSES_STAGES_BATCHING_H

#include "passes/stages/cost.h"

typedef struct {
    int micro_batches;
    bool is_made;        /* the rest is known */
    MwStageModel *model; /* NULL: the batch cannot be cut so */
    MwStageCosts *costs;
} MwStageBatching;

typedef MW_VEC(MwStageBatching) MwStageBatchings;

/* The number that is wanted, else all that divide the batch, the least first; none is made. In the
 * compilation's arena. */
MwStageBatchings mw_stage_batchings(const MwCompilation *compilation);
void mw_stage_batchings_free(MwStageBatchings *batchings);

/* Makes it unless it is made; false if the batch cannot be cut so. */
bool mw_stage_batching_make(MwStageBatching *batching, const MwCompilation *compilation,
                            int threads);

/* Whether all devices of the cluster together have memory enough, `memory_bytes` each, for
 * `in_flight` micro-batches; with recomputation if it may be. */
bool mw_stage_batching_fits(const MwStageBatching *batching, double memory_bytes, int in_flight);

/* Of a step: the time of a pipeline whose stages share the work of one device evenly, the best of all
 * lengths for which there is memory; INFINITY if there is none. */
typedef struct {
    double usual_s; /* by 1f1b */
    double least_s; /* without a bubble */
} MwStageEstimate;

MwStageEstimate mw_stage_batching_estimate(const MwStageBatching *batching, double memory_bytes);

#endif
