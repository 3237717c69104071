/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simplification of a graph, for the passes simplify, clean and precision. */
#ifndef MW_PASSES_GRAPH_SIMPLIFY_H
#define MW_PASSES_GRAPH_SIMPLIFY_H

#include "ir/ir.h"

/* A new graph, in the arena of `graph`, that computes the same numbers with fewer nodes. */
MwGraph *mw_simplify(const MwGraph *graph);

#endif
