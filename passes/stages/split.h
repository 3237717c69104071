/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of what split makes: what the search for stages asks for. */
#ifndef MW_PASSES_STAGES_SPLIT_H
#define MW_PASSES_STAGES_SPLIT_H

#include "passes/compilation.h"

/* The graph of one stage, as split makes it, but that the numbers of its transfers mean nothing, in the
 * arena of compilation->graph. Every stage must have a mesh of its own. */
MwGraph *mw_split_stage(const MwCompilation *compilation, int stage);

/* All that crosses, in the arena of compilation->graph; likewise. */
MwCrossing *mw_split_crossings(const MwCompilation *compilation, int *count);

/* [nodes] Which are made of constants and the step number alone: every stage makes its own. In
 * `arena`. */
bool *mw_find_free_nodes(MwArena *arena, const MwGraph *graph);

#endif
