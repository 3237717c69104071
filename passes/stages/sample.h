/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sample: an interval of layers as a stage of its own on one logical mesh, solved. cost.h
 * extrapolates the costs of longer intervals from samples.
 *
 * The intra-operator problem of the layers is solved to within about a hundredth, without a
 * memory limit. Memory enters the objective with a price instead (a Lagrange multiplier of the
 * memory limit):
 *
 *     time + price * (kept bytes + in flight * saved bytes)
 *
 * The unit of the price is picoseconds per byte. It is a multiple (PRICES in sample.c) of
 * `ps_per_byte`, at which all the memory of a device costs the least time that a step can take. */
#ifndef MW_PASSES_STAGES_SAMPLE_H
#define MW_PASSES_STAGES_SAMPLE_H

#include "passes/stages/model.h"
#include "passes/stages/stage_cost.h"

enum { MW_MEMORY_PRICES = 3 }; /* price levels; level 0 is the price zero */

/* What price level 1 means for a model. */
typedef struct {
    const MwStageModel *model;
    double ps_per_byte; /* picoseconds that a byte costs at price 1 */
} MwStagePricing;

typedef struct {
    int begin, end;     /* layers [begin, end) */
    MwRematLevel remat; /* of all layers */
    /* no other task runs between the tasks of a micro-batch: what is saved counts in
     * `peak_bytes` */
    bool is_sequential;
    MwMeshShape mesh;
    const MwStageGraph *graph;
    bool wanted[MW_MEMORY_PRICES];   /* price levels to solve next */
    bool solved[MW_MEMORY_PRICES];   /* price levels that are solved */
    bool possible[MW_MEMORY_PRICES]; /* solved, and the pins can be met */
    MwStageCost cost[MW_MEMORY_PRICES];
    /* What half of the layers, if they are even in number, costs among others that are alike: half
     * the time, and half of what is held, but all that is held of what passes between the halves,
     * and nothing of what passes between them and other layers. In a sequence, the peaks are what
     * adds to them: what is saved. */
    MwStageCost half[MW_MEMORY_PRICES];
    int64_t effort; /* of the last call, in entries of cost tables (cost.h) */
} MwStageSample;

/* Solves samples at the price levels in `wanted` and clears them; orders `samples` anew. Samples of
 * one mesh have layers in common, so groups of them share what the solver learns. The results do
 * not depend on `threads`. */
void mw_stage_samples_solve(MwStageSample **samples, int count, const MwStagePricing *pricing,
                            int threads);

#endif
