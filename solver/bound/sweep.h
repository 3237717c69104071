/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Message passing on a dual at given prices: improves the potentials, and computes reduced
 * costs. */
#ifndef MW_SOLVER_BOUND_SWEEP_H
#define MW_SOLVER_BOUND_SWEEP_H

#include "solver/bound/dual.h"

/* Performs one sweep over the nodes, upwards or downwards. */
void mw_dual_sweep(MwDual *dual, bool upwards);

/* Sets reduced_cost[strategy] to how much more the strategy of nodes[index] costs than the best
 * one, with the least entries of all its cost functions. */
void mw_dual_reduced_costs(const MwDual *dual, int index, double *reduced_cost);

#endif
