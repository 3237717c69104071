/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the instructions of recorded tasks ran. */
#ifndef MW_CODEGEN_SIMULATE_INSTRS_H
#define MW_CODEGEN_SIMULATE_INSTRS_H

#include "codegen/simulate/step.h"

/* Fills in the instructions of the simulation from its tasks, in `arena`; none if there are more
 * than MW_MOST_SIMULATED_INSTRS. */
void mw_sim_instrs(MwArena *arena, const MwSimPlan *of, MwSimulation *simulation);

#endif
