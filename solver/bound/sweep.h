/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Improving the potentials of a dual at given prices, and its min-marginals. */
#ifndef MW_SOLVER_BOUND_SWEEP_H
#define MW_SOLVER_BOUND_SWEEP_H

#include "solver/bound/dual.h"

/* One sweep over the nodes, upwards or downwards. */
void mw_dual_sweep(MwDual *dual, bool upwards);

/* How much more each strategy of nodes[index] costs than its best one, by its own cost and the
 * least entries that go with it. */
void mw_dual_surplus(const MwDual *dual, int index, double *surplus);

#endif
