/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loss scaling: gradients that are multiplied by a number on the way back, so that floats of 16
 * bits hold them, and steps that are skipped where they do not. */
#ifndef MW_PASSES_GRAPH_LOSS_SCALE_H
#define MW_PASSES_GRAPH_LOSS_SCALE_H

#include "passes/compilation.h"

/* Adds the states, with graph->origin. */
MwLossStates mw_loss_scale_add(MwGraph *graph);

/* What the update does because of the scale. */
typedef struct {
    MwGraph *graph;
    MwLossStates states;
    MwValueId is_finite;       /* bool[] whether all gradients of the step are */
    const MwValueId *gradient; /* [values] by weight, divided by the scale */
    int assigns;               /* assignments of the graph before those of the update */
} MwLossScaling;

/* Begins the update: `gradient` [values] is by weight, times the scale. */
MwLossScaling mw_loss_scale_begin(MwGraph *graph, const MwLossStates *states,
                                  const MwValueId *gradient, int values);
/* i32[] the number of the step that optimizers take, which those that were skipped do not count
 * in; `step` is that of the run. */
MwValueId mw_loss_scale_step(const MwLossScaling *scaling, MwValueId step);
/* The gradient, or zeros in a step that is skipped: what takes it waits until that is known, so
 * that one kernel makes new values and decides whether to keep the old ones. What waits for a sum
 * of all gradients anyway needs no more. */
MwValueId mw_loss_scale_held(const MwLossScaling *scaling, MwValueId gradient);
/* Ends the update: what it assigned keeps its value in a step that is skipped; and the scale gets
 * its next value. */
void mw_loss_scale_end(const MwLossScaling *scaling);

#endif
