/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text to cluster. */
#ifndef MW_FRONTEND_CLUSTER_READ_H
#define MW_FRONTEND_CLUSTER_READ_H

#include "base/diag.h"
#include "ir/cluster.h"

/* The cluster that the text of a cluster file describes, in `arena`; NULL after errors, of which
 * several may be added. `source` must outlive `diags`. */
MwCluster *mw_cluster_read(MwArena *arena, const MwSource *source, MwDiags *diags);

#endif
