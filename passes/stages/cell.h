/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers as a stage of their own on one logical mesh, solved: the intra-op problem, quickly, within
 * about a hundredth, without a memory limit but at prices of memory.
 *
 * With a price the objective is time + price * (kept + in flight * saved). It is in picoseconds a
 * byte: a share of what it costs to use all the memory of a device, which is the time that a step takes
 * at least. */
#ifndef MW_PASSES_STAGES_CELL_H
#define MW_PASSES_STAGES_CELL_H

#include "passes/stages/model.h"

enum { MW_MEMORY_PRICES = 3 }; /* price 0 is nothing */

/* Seconds, and bytes of one device. */
typedef struct {
    MwMeshShape mesh;
    int price; /* of memory, at which it was the best; 0: none */
    /* Of its layers make their values again: those that gain most (mw_stage_costs_recomputed). */
    int recomputed;
    double forward_s, backward_s, weight_s; /* of a micro-batch; weight: gradients of weights */
    double step_s;     /* once a step: gradients are synchronised, weights updated */
    double kept_bytes; /* all through the step */
    /* Of each micro-batch, from forward to backward, from forward to the gradients of weights, and from
     * backward to these. */
    double saved_bytes, late_bytes, weight_bytes;
    double peak_bytes; /* beside these while a task runs */
} MwStageCost;

typedef struct {
    const MwStageModel *model;
    double ps_per_byte; /* of what has the price 1 */
} MwStageMarket;

typedef struct {
    int begin, end;
    bool recomputes; /* all layers */
    /* Nothing runs between the tasks of a micro-batch: what is saved is in `peak_bytes`. */
    bool is_chain;
    MwMeshShape mesh;
    const MwGraph *graph;
    bool wanted[MW_MEMORY_PRICES], solved[MW_MEMORY_PRICES];
    bool possible[MW_MEMORY_PRICES]; /* solved, and pins can be met */
    MwStageCost cost[MW_MEMORY_PRICES];
} MwStageCell;

/* Solves it at the prices that are wanted. */
void mw_stage_cell_solve(MwStageCell *cell, const MwStageMarket *market);

#endif
