/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulated step as a Chrome trace, JSON that Perfetto opens: a process for each mesh, with its
 * tasks, which contain instructions, and the messages that come to it beside them. */
#ifndef MW_TOOLS_SIMULATE_PERFETTO_H
#define MW_TOOLS_SIMULATE_PERFETTO_H

#include "base/text.h"
#include "codegen/simulate/simulation.h"
#include "runtime/plan/plan.h"

/* The simulation has records. Memory grows with them, some 150 bytes each. */
void mw_simulate_trace(MwText *text, const MwPlan *plan, const MwSimulation *simulation);

#endif
