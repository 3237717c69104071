/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan with the times that a run of it took. */
#ifndef MW_TOOLS_SIMULATE_MEASURED_H
#define MW_TOOLS_SIMULATE_MEASURED_H

#include "runtime/plan/plan.h"

typedef struct {
    const MwPlan *plan; /* a copy with measured times; that of a step is predicted as before */
    double step_s;      /* mean of the steps, on the mesh where it is longest */
    int steps;          /* that were measured */
} MwMeasuredPlan;

/* Takes the times of instructions, means over steps, runs and ranks, from the trace of a run.
 * What a step takes besides its instructions and its waiting, such as filling inputs, is spread
 * over them. Transfers keep their times, since of a message that was sent ahead a trace shows
 * the end alone. False after an error. */
bool mw_simulate_measured(MwArena *arena, const MwPlan *plan, const char *trace,
                          MwMeasuredPlan *measured, MwDiags *diags);

#endif
