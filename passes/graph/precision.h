/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the pass precision shares with other passes. */
#ifndef MW_PASSES_GRAPH_PRECISION_H
#define MW_PASSES_GRAPH_PRECISION_H

#include "ir/ir.h"

/* [values] whether a value depends on an input of the model, and so differs between parts of the
 * batch. In `arena`. */
bool *mw_find_varying(MwArena *arena, const MwGraph *graph);

#endif
