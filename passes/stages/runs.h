/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of layers: where layers repeat, one by one or several at a time. Of each period there are
 * few runs, so the list grows with the layers, and the time to make it with their square. */
#ifndef MW_PASSES_STAGES_RUNS_H
#define MW_PASSES_STAGES_RUNS_H

#include "base/vec.h"

/* Layers [begin, end), of which each has the class of the one `period` layers before, from the
 * second period on. */
typedef struct {
    int period, begin, end;
} MwLayerRun;

typedef MW_VEC(MwLayerRun) MwLayerRuns;

/* The longest runs of each period, each of two periods or more, in order of the period, without
 * those that are multiples of another. class: [layers]. In `arena`. */
MwLayerRuns mw_layer_runs(MwArena *arena, const int *class, int layers);

/* The run in [begin, end) that has the most layers, whole periods of it; of equals the one with the
 * shortest period. False if there is none. */
bool mw_layer_runs_longest(const MwLayerRuns *runs, int begin, int end, MwLayerRun *longest);

#endif
