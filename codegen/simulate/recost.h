/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan with the times that it has on other links and devices. */
#ifndef MW_CODEGEN_SIMULATE_RECOST_H
#define MW_CODEGEN_SIMULATE_RECOST_H

#include "codegen/simulate/simulation.h"
#include "runtime/plan/plan.h"

/* The plan, or a copy with other times, in `arena`. The cost model prices collectives and transfers
 * on the links of the cluster, transfers by the faster of the ways in which the receiving devices
 * may share a block. A plan does not say what a kernel computes, so that the times of all else are
 * those of the devices that it was made for; a warning says so where the cluster has others. NULL
 * after an error. */
const MwPlan *mw_simulate_recost(MwArena *arena, const MwPlan *plan,
                                 const MwSimulateOptions *options, MwDiags *diags);

#endif
