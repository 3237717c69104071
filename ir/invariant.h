/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values that are the same for all micro-batches of a step, though each makes them: those that
 * depend on weights and constants alone, such as casts and gathered copies of weights. One slot
 * serves all micro-batches. */
#ifndef MW_IR_INVARIANT_H
#define MW_IR_INVARIANT_H

#include "ir/ir.h"

/* [values] whether a value is made before the update and is invariant, in `arena`; weights, states
 * that no micro-batch changes and constants are. */
bool *mw_find_invariant(MwArena *arena, const MwGraph *graph);

#endif
