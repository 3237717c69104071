/* SPDX-License-Identifier: MIT */
/* The steps of a run, with evaluations and checkpoints between them.
 *
 * Where the device can, the next step is queued before the loss of the one before is read, so that
 * the device never waits for the host. What needs the state after a step waits until that is done,
 * and the next is queued after it: evaluations, checkpoints, outputs. A signal is heeded after the
 * last step that is queued.
 *
 * After each step all ranks share why the run may have to end; a rank whose data cannot be had goes
 * on zeros to the end of the step. At any other fault a rank says why and aborts all. */
#ifndef MW_RUNTIME_RUN_STEPS_H
#define MW_RUNTIME_RUN_STEPS_H

#include "runtime/run_state.h"

/* Runs the steps that are left. Collective over all ranks; returns the exit status. */
int mw_run_steps(MwRunState *run);

#endif
