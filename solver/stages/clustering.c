/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operator clustering by dynamic programming.
 *
 * In:  a sequence of items with their work, and the bytes that a cut before each of them costs.
 *
 * Out: the clustering into a given number of clusters that comes first in order of: the sum of
 * bytes over the cuts; the sum of squares of the clusters' work, which for a given mean measures
 * their variance; the lowest index. Work and bytes are integers, so comparisons are exact.
 *
 * A cluster has at most (1 + DELTA) times the mean work. If no clustering keeps this limit (an item
 * is heavier, the number of clusters does not divide evenly, or groups prevent it), the limit is
 * raised: to the heaviest item, then by a tenth at a time. A cluster has at least (1 - DELTA) times
 * the mean work; otherwise a cheap cut would justify an almost empty cluster. If no clustering
 * keeps this floor, it is lowered to a quarter, repeatedly.
 *
 * The range of begins of a cluster depends only on its end, so one pass over the items for each
 * cluster suffices. The number of steps is the product of the numbers of clusters, of items, and of
 * items in the largest cluster that the limit allows. If no item is heavy, that is about the square
 * of the number of items.
 *
 * Source: Zheng et al., "Alpa", OSDI 2022, section 5.2. Alpa minimises the greatest bytes into one
 * layer; this function minimises their sum, because any border of clusters may become one of
 * stages. The upper limit is Alpa's, DELTA that of its implementation. */
#include "solver/stages/clustering.h"

#define DELTA_TENTHS 6

typedef struct {
    int64_t bytes, squares;
} Cost;

typedef struct {
    const MwClustering *clustering;
    int64_t *before; /* [count + 1] work of the items before item i */
    /* [count + 1] the first items of the largest and of the smallest cluster that ends before item
     * i */
    int *largest, *smallest;
} Windows;

/* Says whether item `i` can join a cluster whose group is `*group`, and updates the group if so. */
static bool can_join(const MwClustering *clustering, int i, int *group)
{
    int item_group = clustering->group[i];
    if (item_group >= 0 && *group >= 0 && item_group != *group)
        return false;
    if (item_group >= 0)
        *group = item_group;
    return true;
}

/* Returns the least number of clusters with work of at most `limit`: each takes as many items as it
 * can. */
static int least_clusters(const MwClustering *clustering, int64_t limit)
{
    int clusters = 1, group = -1;
    int64_t work = 0;
    for (int i = 0; i < clustering->count; i++) {
        work += clustering->work[i];
        if (can_join(clustering, i, &group) && work <= limit)
            continue;
        clusters++;
        work = clustering->work[i];
        group = clustering->group[i];
    }
    return clusters;
}

int mw_clustering_least(const MwClustering *clustering)
{
    return least_clusters(clustering, MW_CLUSTERING_WORK);
}

int64_t mw_clustering_limit(const MwClustering *clustering, int clusters)
{
    int64_t total = 0, heaviest = 0;
    for (int i = 0; i < clustering->count; i++) {
        total += clustering->work[i];
        heaviest = mw_max(heaviest, clustering->work[i]);
    }
    int64_t limit = mw_ceil_div(total * (10 + DELTA_TENTHS), 10 * (int64_t)clusters);
    limit = mw_max(limit, heaviest);
    while (least_clusters(clustering, limit) > clusters)
        limit += mw_ceil_div(limit, 10);
    return limit;
}

/* Returns the last item before `end` that cannot be in a cluster which ends there. */
static int last_outside(const MwClustering *clustering, int end)
{
    int group = -1, i = end - 1;
    while (i >= 0 && can_join(clustering, i, &group))
        i--;
    return i;
}

static Windows find_windows(MwArena *arena, const MwClustering *clustering, int64_t limit)
{
    int count = clustering->count, barrier = 0, group = -1;
    Windows windows = {.clustering = clustering,
                       .before = MW_NEW(arena, int64_t, count + 1),
                       .largest = MW_NEW(arena, int, count + 1),
                       .smallest = MW_NEW(arena, int, count + 1)};
    for (int i = 0; i < count; i++) {
        windows.before[i + 1] = windows.before[i] + clustering->work[i];
        if (!can_join(clustering, i, &group)) {
            barrier = last_outside(clustering, i + 1) + 1;
            group = clustering->group[i];
        }
        int first = (int)mw_max(windows.largest[i], barrier);
        while (windows.before[i + 1] - windows.before[first] > limit)
            first++;
        windows.largest[i + 1] = first;
    }
    return windows;
}

/* Sets the smallest clusters: those with work of at least `floor`; -1 where there is none. */
static void set_floor(Windows *windows, int64_t floor)
{
    for (int end = 1, begin = -1; end <= windows->clustering->count; end++) {
        while (begin + 1 < end && windows->before[end] - windows->before[begin + 1] >= floor)
            begin++;
        windows->smallest[end] = begin;
    }
}

static bool is_less(Cost a, Cost b)
{
    return a.bytes < b.bytes || (a.bytes == b.bytes && a.squares < b.squares);
}

static Cost with_cluster(const Windows *windows, Cost cost, int begin, int end)
{
    int64_t work = windows->before[end] - windows->before[begin];
    cost.bytes += windows->clustering->border_bytes[begin];
    cost.squares += work * work;
    return cost;
}

/* Returns the least cost of the items before `end`, given the costs with one cluster less; `*begin`
 * gets the first item of the last cluster. */
static Cost extend(const Windows *windows, const Cost *shorter, int end, int *begin)
{
    Cost best = {INT64_MAX, INT64_MAX};
    for (int i = windows->largest[end]; i <= windows->smallest[end]; i++) {
        if (shorter[i].bytes == INT64_MAX)
            continue;
        Cost cost = with_cluster(windows, shorter[i], i, end);
        if (is_less(cost, best)) {
            best = cost;
            *begin = i;
        }
    }
    return best;
}

/* Returns false if no clustering keeps to the windows. */
static bool cut(MwArena *arena, const Windows *windows, int clusters, int *begins)
{
    int count = windows->clustering->count;
    Cost *costs = MW_NEW(arena, Cost, count + 1);
    int *begin = MW_NEW(arena, int, (size_t)clusters *(size_t)(count + 1));
    for (int end = 1; end <= count; end++)
        costs[end].bytes = INT64_MAX;
    for (int c = 0; c < clusters; c++) {
        /* Backwards, so that the costs before `end` are still those with one cluster less. */
        for (int end = count; end > c; end--)
            costs[end] = extend(windows, costs, end, &begin[c * (count + 1) + end]);
        costs[c].bytes = INT64_MAX;
    }
    if (costs[count].bytes == INT64_MAX)
        return false;
    for (int c = clusters - 1, end = count; c >= 0; c--) {
        begins[c] = begin[c * (count + 1) + end];
        end = begins[c];
    }
    return true;
}

void mw_clustering_cut(const MwClustering *clustering, int clusters, int *begins)
{
    MW_ASSERT(clusters >= mw_clustering_least(clustering) && clusters <= clustering->count);
    MwArena *arena = mw_arena_new();
    Windows windows = find_windows(arena, clustering, mw_clustering_limit(clustering, clusters));
    int64_t total = windows.before[clustering->count];
    MW_ASSERT(total <= MW_CLUSTERING_WORK);
    int64_t floor = total * (10 - DELTA_TENTHS) / (10 * (int64_t)clusters);
    set_floor(&windows, floor);
    while (!cut(arena, &windows, clusters, begins)) {
        MW_ASSERT(floor > 0);
        floor /= 4;
        set_floor(&windows, floor);
    }
    mw_arena_free(&arena);
}
