/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_CERTIFY_H
#define MW_SOLVER_BOUND_CERTIFY_H

#include "solver/bound/dual.h"

/* Returns a proven lower bound of the core's cost, in its scale. */
MwCost mw_dual_certify(const MwDual *dual);
/* Moves the potentials into the costs of the dual's core (reparametrisation), so that the bound can
 * be recomputed from the core and the prices alone, and forbids what is in no choice that costs
 * less than `cutoff` (in the core's scale; reduced-cost fixing). Returns the same bound. The dual
 * is unusable afterwards. */
MwCost mw_dual_apply(MwDual *dual, MwCore *core, MwCost cutoff);

#endif
