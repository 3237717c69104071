/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cluster to text. */
#ifndef MW_FRONTEND_CLUSTER_PRINT_H
#define MW_FRONTEND_CLUSTER_PRINT_H

#include "base/text.h"
#include "ir/cluster.h"

/* Adds a cluster file that reads back as `cluster`, its figures to four digits. Printing what was
 * read from a printed text gives the same text. */
void mw_cluster_print(MwText *text, const MwCluster *cluster);

#endif
