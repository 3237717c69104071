/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard constraints of a problem. Few of a model's edges forbid anything, and those that do
 * mostly forbid the same pairs, so the result is small. Tables with equal content are shared. */
#include "solver/answer/hard_constraints.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const int64_t **table; /* [capacity] hash table with open addressing; NULL: free */
    int64_t *entries;      /* [capacity] entries of the table */
    uint64_t capacity;     /* a power of two, more than twice the greatest number of tables */
} Patterns;

static int64_t edge_entries(const MwProblem *problem, const MwProblemEdge *edge)
{
    return (int64_t)problem->nodes[edge->a].strategy_count * problem->nodes[edge->b].strategy_count;
}

/* Replaces allowed costs by 0 and forbidden ones by MW_COST_INFINITE. Returns whether any is
 * forbidden. */
static bool hard_costs(const int64_t *cost, int64_t count, int64_t *hard)
{
    int64_t forbidden = 0;
    for (int64_t i = 0; i < count; i++) {
        hard[i] = cost[i] < MW_COST_INFINITE ? 0 : MW_COST_INFINITE;
        forbidden += cost[i] >= MW_COST_INFINITE;
    }
    return forbidden > 0;
}

static const int64_t *share_pattern(MwArena *arena, Patterns *patterns, const int64_t *hard,
                                    int64_t count)
{
    size_t bytes = sizeof *hard * (size_t)count;
    uint64_t at = mw_hash_bytes(hard, bytes) & (patterns->capacity - 1);
    while (patterns->table[at] &&
           (patterns->entries[at] != count || memcmp(patterns->table[at], hard, bytes) != 0))
        at = (at + 1) & (patterns->capacity - 1);
    if (!patterns->table[at]) {
        patterns->table[at] = mw_arena_dup(arena, hard, bytes);
        patterns->entries[at] = count;
    }
    return patterns->table[at];
}

MwProblem *mw_hard_constraints(MwArena *arena, const MwProblem *problem)
{
    MwArena *scratch = mw_arena_new();
    MwProblem *hard = mw_arena_dup(arena, problem, sizeof *problem);
    hard->usage_limit = MW_USAGE_UNLIMITED;
    hard->nodes =
        mw_arena_dup(arena, problem->nodes, sizeof *hard->nodes * (size_t)problem->node_count);
    hard->edges = MW_NEW(arena, MwProblemEdge, problem->edge_count);
    hard->edge_count = 0;
    for (int i = 0; i < problem->node_count; i++) {
        int64_t *cost = MW_NEW(arena, int64_t, problem->nodes[i].strategy_count);
        hard_costs(problem->nodes[i].cost, problem->nodes[i].strategy_count, cost);
        hard->nodes[i].cost = cost;
    }
    int64_t most = 0;
    Patterns patterns = {.capacity = 1};
    while (patterns.capacity < 2 * (uint64_t)problem->edge_count + 2)
        patterns.capacity *= 2;
    patterns.table = MW_NEW(scratch, const int64_t *, patterns.capacity);
    patterns.entries = MW_NEW(scratch, int64_t, patterns.capacity);
    for (int i = 0; i < problem->edge_count; i++)
        most = mw_max(most, edge_entries(problem, &problem->edges[i]));
    int64_t *cost = MW_NEW(scratch, int64_t, most);
    for (int i = 0; i < problem->edge_count; i++) {
        const MwProblemEdge *edge = &problem->edges[i];
        int64_t count = edge_entries(problem, edge);
        if (!hard_costs(edge->cost, count, cost))
            continue;
        MwProblemEdge *kept = &hard->edges[hard->edge_count++];
        *kept = *edge;
        kept->cost = share_pattern(arena, &patterns, cost, count);
    }
    mw_arena_free(&scratch);
    return hard;
}

MwProblem *mw_hard_induced(MwArena *arena, const MwProblem *hard, int count, const int *nodes)
{
    MwProblem *subproblem = mw_arena_dup(arena, hard, sizeof *hard);
    /* index in the subproblem plus 1; 0: not in it */
    int *index_of = MW_NEW(arena, int, hard->node_count);
    subproblem->node_count = count;
    subproblem->nodes = MW_NEW(arena, MwProblemNode, count);
    for (int i = 0; i < count; i++) {
        subproblem->nodes[i] = hard->nodes[nodes[i]];
        index_of[nodes[i]] = i + 1;
    }
    subproblem->edges = MW_NEW(arena, MwProblemEdge, hard->edge_count);
    subproblem->edge_count = 0;
    for (int i = 0; i < hard->edge_count; i++) {
        const MwProblemEdge *edge = &hard->edges[i];
        int a = index_of[edge->a], b = index_of[edge->b];
        if (a && b)
            subproblem->edges[subproblem->edge_count++] = (MwProblemEdge){a - 1, b - 1, edge->cost};
    }
    return subproblem;
}

int64_t mw_hard_weight(const MwProblemNode *node, int count, const MwInfeasibleTime *times)
{
    int64_t weight = 0;
    for (int i = 0; i < count && node->usage; i++)
        if (node->begin <= times[i].time && times[i].time < node->end)
            weight += times[i].weight;
    return weight;
}

static const int64_t *usage_costs(MwArena *arena, const MwProblemNode *node, int64_t weight)
{
    int64_t *cost = MW_NEW(arena, int64_t, node->strategy_count);
    for (int s = 0; s < node->strategy_count; s++) {
        __int128 usage = (__int128)weight * node->usage[s];
        cost[s] = usage < MW_COST_INFINITE ? (int64_t)usage : MW_COST_INFINITE - 1;
        cost[s] = mw_max(cost[s], node->cost[s]);
    }
    return cost;
}

static int compare_times(const void *a, const void *b)
{
    const MwInfeasibleTime *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Returns the sum of the weights of the times before `time`; times ascend, and `sum` is [count +
 * 1]. */
static int64_t weight_before(int count, const MwInfeasibleTime *times, const int64_t *sum,
                             int64_t time)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (times[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return sum[low];
}

MwProblem *mw_hard_usage(MwArena *arena, const MwProblem *hard, int count,
                         const MwInfeasibleTime *times)
{
    MwArena *scratch = mw_arena_new();
    MwProblem *usage = mw_arena_dup(arena, hard, sizeof *hard);
    usage->nodes = mw_arena_dup(arena, hard->nodes, sizeof *hard->nodes * (size_t)hard->node_count);
    MwInfeasibleTime *sorted = mw_arena_dup(scratch, times, sizeof *times * (size_t)count);
    if (count > 0)
        qsort(sorted, (size_t)count, sizeof *sorted, compare_times);
    int64_t *sum = MW_NEW(scratch, int64_t, count + 1);
    for (int i = 0; i < count; i++)
        sum[i + 1] = sum[i] + sorted[i].weight;
    for (int i = 0; i < hard->node_count; i++) {
        const MwProblemNode *node = &hard->nodes[i];
        int64_t weight = weight_before(count, sorted, sum, node->end) -
                         weight_before(count, sorted, sum, node->begin);
        if (weight > 0 && node->usage)
            usage->nodes[i].cost = usage_costs(arena, node, weight);
    }
    mw_arena_free(&scratch);
    return usage;
}

int64_t mw_hard_least_usage(const MwProblemNode *node)
{
    int64_t least = INT64_MAX;
    for (int s = 0; s < node->strategy_count && node->usage; s++)
        if (node->cost[s] < MW_COST_INFINITE)
            least = mw_min(least, node->usage[s]);
    return least < INT64_MAX ? least : 0;
}
