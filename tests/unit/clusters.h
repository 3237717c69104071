/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clusters for tests, made by hand so that a test states its costs. */
#ifndef MW_TESTS_UNIT_CLUSTERS_H
#define MW_TESTS_UNIT_CLUSTERS_H

#include "ir/cluster.h"

/* One node of `devices` devices: 1 TFLOP/s products, 100 GFLOP/s of other arithmetic, 100 GB/s
 * memory, 1 GB; links of 10 GB/s and 1 us; 1 us a kernel. */
MwCluster test_cluster(int devices);

/* `nodes` such nodes of `devices`, whose links are fast (200 GB/s) and network slow (5 GB/s). */
MwCluster test_cluster_of_nodes(int nodes, int devices);

#endif
