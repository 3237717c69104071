/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which collectives are done together so that the last of them ends soonest.
 *
 * Source: MG-WFBP (Shi, Chu, Li, INFOCOM 2019), which merges the all-reduces of gradients while the
 * backward goes on: a run of neighbours waits for the last of them, and pays the latency once. The
 * optimum is found by dynamic programming over the number of runs and the items that they hold.
 *
 * Time grows with the cube of the items, memory with the square: callers have at most
 * MW_BUCKET_ITEMS. */
#ifndef MW_CODEGEN_PLAN_BUCKET_CUT_H
#define MW_CODEGEN_PLAN_BUCKET_CUT_H

#include "base/arena.h"

enum { MW_BUCKET_ITEMS = 128 };

typedef struct {
    int item_count;
    const double *ready_s; /* [item_count] when an item can be done; ascending */
    /* Seconds of items [begin, end) done together; INFINITY: they may not be. One item alone always
     * may. */
    double (*cost_s)(const void *context, int begin, int end);
    const void *context;
} MwBucketProblem;

/* Fills `ends` [item_count]: bucket k holds the items from the end of bucket k - 1 to ends[k].
 * Returns the number of buckets: the last one ends as early as it can, and they are as few as they
 * can be then. */
int mw_bucket_cut(const MwBucketProblem *problem, int *ends);

#endif
