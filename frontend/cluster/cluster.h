/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cluster files (docs/clusters.md): a declarative text of names, figures and their units. */
#ifndef MW_FRONTEND_CLUSTER_CLUSTER_H
#define MW_FRONTEND_CLUSTER_CLUSTER_H

#include "base/diag.h"
#include "ir/cluster.h"

/* Reads a cluster file; "local:N" is N CPU ranks of this machine, with the rates of
 * clusters/local.cluster and an equal share each of this machine's memory. Everything is allocated
 * in `arena`, the text that diagnostics point into too. NULL after errors; several may be added. */
MwCluster *mw_cluster_load(MwArena *arena, const char *name_or_path, MwDiags *diags);

#endif
