/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over the gradients of all weights. */
#ifndef MW_PASSES_GRAPH_LAYER_SUMS_H
#define MW_PASSES_GRAPH_LAYER_SUMS_H

#include "ir/ir.h"

/* f32[] the sum of what `term` makes, f32[], of each gradient. `gradient` [values] is by weight,
 * with no value where there is none; there is at least one. There is a sum, named after the layer
 * and `name`, for each run of weights of one layer and one iteration of a repeat, so that identical
 * layers stay identical and no stage adds terms of another. The sum of these has graph->origin; the
 * caller names it. */
MwValueId mw_sum_by_layer(MwGraph *graph, const MwValueId *gradient, int values,
                          MwValueId (*term)(MwGraph *graph, MwValueId tensor), const char *name);

#endif
