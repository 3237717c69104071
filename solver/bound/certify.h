/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_SOLVER_BOUND_CERTIFY_H
#define MW_SOLVER_BOUND_CERTIFY_H

#include "solver/bound/dual.h"

/* A proven lower bound of the core's cost, in its scale. */
MwCost mw_dual_certify(const MwDual *dual);
/* Moves the potentials into the costs of the core the dual is of, so that the bound can be made
 * anew from it and the prices alone; and forbids what is in no choice that costs less than `cutoff`
 * (in the core's scale). Gives the same bound. The dual is of no use afterwards. */
MwCost mw_dual_apply(MwDual *dual, MwCore *core, MwCost cutoff);

#endif
