/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of micro-batches that the search may choose, each with the model cut into that many,
 * and an estimate of the best step time with each. The estimates need what the whole model costs
 * on one device; a model that takes much memory is kept only while layouts with it are sought. */
#ifndef MW_PASSES_STAGES_BATCHING_H
#define MW_PASSES_STAGES_BATCHING_H

#include "passes/stages/cost.h"

/* Step times of a pipeline whose stages share the work of one device evenly: the least over all
 * numbers of stages that have memory enough. INFINITY if none has. */
typedef struct {
    double usual_s; /* with the bubble of 1F1B */
    double least_s; /* without a bubble: a lower bound */
} MwStageEstimate;

/* One number of micro-batches. */
typedef struct {
    const MwCompilation *compilation; /* which the model is a copy of */
    const MwLayerFold *fold;          /* of the model, whatever their number */
    MwStageSolved *solved;            /* receives what is solved */
    int threads;
    int micro_batches;
    int64_t samples;  /* of the batch in each */
    bool is_made;     /* the fields below are set */
    bool is_possible; /* the batch can be cut into so many */
    int layer_count;  /* of the model */
    /* the model on one device, on the least and on the most level of recomputation */
    MwStageCost quick, lean;
    MwStageEstimate estimate; /* once asked for */
    MwStageModel *model;      /* NULL: not made, or freed again */
    MwStageCosts *costs;      /* in the model's arena */
} MwStageBatching;

typedef MW_VEC(MwStageBatching) MwStageBatchings;

/* The number that the user asks for, or else every divisor of the batch in ascending order. No
 * model is made yet. `known` receives what is solved. The list lies in the compilation's arena;
 * mw_stage_batchings_free frees the models. What is done with one of them touches no other, so that
 * several threads may make or ask those of different numbers at once. */
MwStageBatchings mw_stage_batchings(const MwCompilation *compilation, MwStageKnown *known,
                                    int threads);
void mw_stage_batchings_free(MwStageBatchings *batchings);

/* Makes the model and its costs, unless they are there. False if the batch cannot be cut into so
 * many. */
bool mw_stage_batching_make(MwStageBatching *batching);

/* Makes what mw_stage_batching_fits and mw_stage_batching_estimate need, at the first call. A model
 * that this takes is freed again. False as above. */
bool mw_stage_batching_measure(MwStageBatching *batching);

/* The same for all of them, on several threads: each holds one model at a time. */
void mw_stage_batchings_measure(MwStageBatchings *batchings);

/* Whether the devices of the cluster, with `memory_bytes` each, have memory enough in total for
 * `in_flight` micro-batches; with recomputation unless the user forbids it. */
bool mw_stage_batching_fits(const MwStageBatching *batching, double memory_bytes, int in_flight);

/* Seconds of a step whose work all devices share evenly, without a bubble, and without
 * recomputation unless all is recomputed. */
double mw_stage_batching_even_s(const MwStageBatching *batching);

/* Sets the estimate. */
void mw_stage_batching_estimate(MwStageBatching *batching, double memory_bytes);

#endif
