/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How `plan` and `compile` end. */
#ifndef MW_TOOLS_PLAN_SUMMARIZE_H
#define MW_TOOLS_PLAN_SUMMARIZE_H

#include "tools/session.h"

/* Prints the summary of the plan where all went well and it is wanted, and the result is a file and
 * no dump of the graph is on standard output; and ends the session. `plan` may be NULL. */
int mw_session_summarize(MwSession *session, const MwPlan *plan);

#endif
