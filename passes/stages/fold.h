/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model with the middle of its long runs of equal layers left out, so that the search lowers a
 * few of a hundred equal layers in place of all.
 *
 *     layers        0  1  2  3  4  5  6  7  8  9 10      of the model, 1 to 9 of one class
 *     folded        0  1  2  3           7  8  9 10      where three periods stay at each end
 *
 * Behind the gap, what comes from a layer that is left out comes from the equal layer before the
 * gap, and before it from the one behind. Sums over all layers, as the norm of all gradients, go
 * without the terms of those that are left out. Time and memory grow with the nodes of the model;
 * the folded model has those of 2 * FOLD_PERIODS periods of each run. */
#ifndef MW_PASSES_STAGES_FOLD_H
#define MW_PASSES_STAGES_FOLD_H

#include "base/vec.h"
#include "ir/ir.h"

/* Layers [begin, end), whole periods of the run [run_begin, run_end), are left out. */
typedef struct {
    int period, run_begin, begin, end, run_end;
} MwLayerGap;

typedef struct {
    MwGraph *graph; /* NULL: the model cannot be folded */
    int layer_count;
    MW_VEC(MwLayerGap) gaps; /* in order */
} MwLayerFold;

/* Folds the model, of so many layers; in `arena`. It cannot be folded where it has no long runs, or
 * where what stays needs a value of a layer that is left out and that no other layer has. */
MwLayerFold mw_layer_fold(MwArena *arena, const MwGraph *graph, int layers);

/* The folded layer that layer `layer` of the model is or, if it is left out, that stands in the
 * same place of the period before the gap. */
int mw_layer_fold_of(const MwLayerFold *fold, int layer);

/* Whether the layers on both sides of each gap have equal classes, so that those in it have them
 * too. folded_class: [folded layers]. */
bool mw_layer_fold_is_even(const MwLayerFold *fold, const int *folded_class);

#endif
