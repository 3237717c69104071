/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simplification, for the passes that do it. */
#ifndef MW_PASSES_GRAPH_SIMPLIFY_H
#define MW_PASSES_GRAPH_SIMPLIFY_H

#include "ir/ir.h"

/* A new graph that computes the same numbers as `graph`. */
MwGraph *mw_simplify(const MwGraph *graph);

#endif
