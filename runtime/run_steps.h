/* SPDX-License-Identifier: MIT */
/* The steps of a run, with evaluations and checkpoints between them.
 *
 * After each step all ranks share why the run may have to end; a rank whose data cannot be had goes
 * on zeros to the end of the step. At any other fault a rank says why and aborts all. */
#ifndef MW_RUNTIME_RUN_STEPS_H
#define MW_RUNTIME_RUN_STEPS_H

#include "runtime/run_state.h"

/* Runs the steps that are left. Collective over all ranks; returns the exit status. */
int mw_run_steps(MwRunState *run);

#endif
