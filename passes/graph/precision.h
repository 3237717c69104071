/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mixed precision: what the pass precision shares with others. */
#ifndef MW_PASSES_GRAPH_PRECISION_H
#define MW_PASSES_GRAPH_PRECISION_H

#include "ir/ir.h"

/* [values] Which depend on an input of the model, and so differ from one part of the batch to
 * another. In `arena`. */
bool *mw_find_varying(MwArena *arena, const MwGraph *graph);

#endif
