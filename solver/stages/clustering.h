/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clustering: a sequence of items is cut into clusters of consecutive items such that the bytes
 * over the cuts are minimal, then the work is most even, and no cluster has much more or much less
 * work than the mean. */
#ifndef MW_SOLVER_STAGES_CLUSTERING_H
#define MW_SOLVER_STAGES_CLUSTERING_H

#include "base/arena.h"

/* Upper limit of the work of all items, which keeps sums of squares exact. The caller scales the
 * work to it. */
#define MW_CLUSTERING_WORK (INT64_C(1) << 30)

typedef struct {
    int count;           /* number of items, at least 1 */
    const int64_t *work; /* [count] each at least 0 */
    /* [count] bytes that a cut directly before the item transfers; entry 0 is 0. */
    const int64_t *border_bytes;
    const int *group; /* [count] items of two groups are never in one cluster; -1: in no group */
} MwClustering;

/* Returns the least number of clusters that keeps groups apart. */
int mw_clustering_least(const MwClustering *clustering);

/* Returns the greatest work that one of `clusters` clusters may have: 1.6 times the mean, or more
 * where no clustering exists below that. */
int64_t mw_clustering_limit(const MwClustering *clustering, int clusters);

/* Cuts the items into exactly `clusters` clusters, a number between mw_clustering_least and the
 * number of items: begins[c] is the first item of cluster c. */
void mw_clustering_cut(const MwClustering *clustering, int clusters, int *begins);

#endif
