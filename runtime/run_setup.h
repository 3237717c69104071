/* SPDX-License-Identifier: MIT */
/* How a run is set up: in stages, after each of which all ranks agree whether to go on, so that
 * what one rank cannot do ends all of them with one message. */
#ifndef MW_RUNTIME_RUN_SETUP_H
#define MW_RUNTIME_RUN_SETUP_H

#include "runtime/run_state.h"

/* Connects the ranks. False after a message; where run->transport is set, it is that they are not
 * as many as the plan is for. */
bool mw_run_connect(MwRunState *run);
/* All other stages. False after a message. */
bool mw_run_set_up(MwRunState *run);

#endif
