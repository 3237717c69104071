/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single results of the pass split, for the search for stages. */
#ifndef MW_PASSES_STAGES_SPLIT_H
#define MW_PASSES_STAGES_SPLIT_H

#include "passes/compilation.h"

/* The graph that split makes of one stage, in the arena of compilation->graph. Its `transfer`
 * attributes do not index any crossings. Every stage must have a mesh of its own. */
MwGraph *mw_split_stage(const MwCompilation *compilation, int stage);

/* The values that cross between stages, in the arena of compilation->graph. Every stage must
 * have a mesh of its own. */
MwCrossing *mw_split_crossings(const MwCompilation *compilation, int *count);

/* [nodes] whether a node depends on constants and the step number alone, so that every stage
 * computes its own copy. In `arena`. */
bool *mw_find_constant_nodes(MwArena *arena, const MwGraph *graph);

#endif
