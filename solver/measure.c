/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost and peak usage of a choice, from the problem alone, in exact integers. */
#include "solver/solver.h"

#include <stdlib.h>

static int64_t edge_cost(const MwProblem *problem, const MwProblemEdge *edge, const int *choice)
{
    int64_t columns = problem->nodes[edge->b].strategy_count;
    return edge->cost[choice[edge->a] * columns + choice[edge->b]];
}

MwCost mw_problem_cost(const MwProblem *problem, const int *choice)
{
    MwCost cost = 0;
    for (int i = 0; i < problem->node_count; i++)
        cost += problem->nodes[i].cost[choice[i]];
    for (int i = 0; i < problem->edge_count; i++)
        cost += edge_cost(problem, &problem->edges[i], choice);
    return cost;
}

bool mw_problem_allows(const MwProblem *problem, const int *choice)
{
    for (int i = 0; i < problem->node_count; i++)
        if (problem->nodes[i].cost[choice[i]] >= MW_COST_INFINITE)
            return false;
    for (int i = 0; i < problem->edge_count; i++)
        if (edge_cost(problem, &problem->edges[i], choice) >= MW_COST_INFINITE)
            return false;
    return true;
}

typedef struct {
    int64_t time, change;
} Change;

/* Orders by time, then decreases first: an interval does not include its end. */
static int compare_changes(const void *a, const void *b)
{
    const Change *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->change > y->change) - (x->change < y->change);
}

int64_t mw_problem_peak(const MwProblem *problem, const int *choice, int64_t *time)
{
    MwArena *scratch = mw_arena_new();
    Change *changes = MW_NEW(scratch, Change, 2 * problem->node_count);
    int count = 0;
    for (int i = 0; i < problem->node_count; i++) {
        const MwProblemNode *node = &problem->nodes[i];
        if (!node->usage || node->begin >= node->end)
            continue;
        changes[count++] = (Change){node->begin, node->usage[choice[i]]};
        changes[count++] = (Change){node->end, -node->usage[choice[i]]};
    }
    qsort(changes, (size_t)count, sizeof *changes, compare_changes);
    __int128 usage = 0, peak = 0;
    *time = count ? changes[0].time : 0;
    for (int i = 0; i < count; i++) {
        usage += changes[i].change;
        if (usage > peak) {
            peak = usage;
            *time = changes[i].time;
        }
    }
    mw_arena_free(&scratch);
    return peak < INT64_MAX ? (int64_t)peak : INT64_MAX;
}
