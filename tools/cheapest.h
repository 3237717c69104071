/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `--objective cost`: how much of a cluster to use. */
#ifndef MW_TOOLS_CHEAPEST_H
#define MW_TOOLS_CHEAPEST_H

#include "codegen/plan/plan_model.h"

/* The part of the cluster of the request on which a step costs least, in `arena`: 1, 2, 4 ... of
 * its nodes, or all; where devices alone have a price, also 1, 2, 4 ... devices of one node. Each
 * is planned for. The cluster itself where nothing can be planned. NULL after an error: it has no
 * price. */
const MwCluster *mw_cheapest_cluster(MwArena *arena, const MwPlanRequest *request, MwDiags *diags);

#endif
