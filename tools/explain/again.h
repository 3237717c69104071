/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan that was made before, made again, so that it can be compared with others. */
#ifndef MW_TOOLS_EXPLAIN_AGAIN_H
#define MW_TOOLS_EXPLAIN_AGAIN_H

#include "tools/session.h"

/* The plan in a file, which the command line has in the place of the model, planned anew from the
 * model, the cluster and the options that it records, which the session then has. NULL after
 * errors: they cannot be found or planned, the command line has options of planning besides, or
 * what comes of them is another plan. */
const MwPlan *mw_explain_again(MwSession *session, const char *path);

#endif
