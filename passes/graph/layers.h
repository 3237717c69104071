/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What passes/graph/layers.c finds out, for the passes behind it. */
#ifndef MW_PASSES_GRAPH_LAYERS_H
#define MW_PASSES_GRAPH_LAYERS_H

#include "ir/ir.h"

/* How many layers the model has; at least 1. Each has nodes of the forward phase. */
int mw_layer_count(const MwGraph *graph);

#endif
