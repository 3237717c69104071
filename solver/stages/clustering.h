/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row of items is cut into clusters of neighbours: the least bytes over the cuts, then the most
 * even work, such that no cluster has much more or much less work than the mean. */
#ifndef MW_SOLVER_STAGES_CLUSTERING_H
#define MW_SOLVER_STAGES_CLUSTERING_H

#include "base/arena.h"

/* The most that the work of all items may add up to, so that sums of squares are exact. Whoever
 * makes the problem scales to it. */
#define MW_CLUSTERING_WORK (INT64_C(1) << 30)

typedef struct {
    int count;           /* of items, at least 1 */
    const int64_t *work; /* [count] from 0 */
    /* [count] bytes that flow over a cut just before the item; 0 of the first, where none is. */
    const int64_t *border_bytes;
    const int *group; /* [count] two groups are never in one cluster; -1: of no group */
} MwClustering;

/* The fewest clusters that keep groups apart. */
int mw_clustering_least(const MwClustering *clustering);

/* The most work of one cluster when there are `clusters` of them: 1.6 times the mean, and more
 * where nothing fits below that. */
int64_t mw_clustering_limit(const MwClustering *clustering, int clusters);

/* Cuts into exactly `clusters`, between mw_clustering_least and the number of items: begins[c] is
 * the first item of cluster c. */
void mw_clustering_cut(const MwClustering *clustering, int clusters, int *begins);

#endif
