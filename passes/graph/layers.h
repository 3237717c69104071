/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of passes/graph/layers.c for later passes. */
#ifndef MW_PASSES_GRAPH_LAYERS_H
#define MW_PASSES_GRAPH_LAYERS_H

#include "ir/ir.h"

/* The number of layers of the model, at least 1. Each has nodes of the forward phase. */
int mw_layer_count(const MwGraph *graph);

#endif
