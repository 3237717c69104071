/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the name of a pipeline schedule. */
#ifndef MW_TOOLS_ARGUMENT_SCHEDULE_H
#define MW_TOOLS_ARGUMENT_SCHEDULE_H

#include "schedule/schedule.h"

#include <argp.h>

/* The pipeline schedule of that name; ends the process with argp_error if there is none. */
MwPipelineKind mw_argument_schedule(const struct argp_state *state, const char *text);

#endif
