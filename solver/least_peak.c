/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For problems that do not fit: how much memory any choice needs at the fullest time. */
#include "solver/least_peak.h"

static bool lives(const MwProblemNode *node, int64_t time)
{
    return node->usage && node->begin <= time && time < node->end;
}

/* The allowed strategy that uses least; 0 if none is allowed. */
static int leanest(const MwProblemNode *node)
{
    int best = -1;
    for (int s = 0; s < node->strategy_count; s++)
        if (node->cost[s] < MW_COST_INFINITE &&
            (best < 0 || (node->usage && node->usage[s] < node->usage[best])))
            best = s;
    return best < 0 ? 0 : best;
}

int64_t mw_fullest_time(const MwProblem *problem, __int128 *usage)
{
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, problem->node_count);
    for (int i = 0; i < problem->node_count; i++)
        choice[i] = leanest(&problem->nodes[i]);
    int64_t time;
    mw_problem_peak(problem, choice, &time);
    *usage = 0;
    for (int i = 0; i < problem->node_count; i++)
        if (lives(&problem->nodes[i], time))
            *usage += problem->nodes[i].usage[choice[i]];
    mw_arena_free(&scratch);
    return time;
}

static const int64_t *usage_costs(MwArena *arena, const MwProblemNode *node, int64_t time)
{
    int64_t *cost = MW_NEW(arena, int64_t, node->strategy_count);
    for (int s = 0; s < node->strategy_count; s++) {
        int64_t usage = lives(node, time) ? node->usage[s] : 0;
        cost[s] = node->cost[s] < MW_COST_INFINITE ? mw_min(usage, MW_COST_INFINITE - 1)
                                                   : MW_COST_INFINITE;
    }
    return cost;
}

static const int64_t *only_forbidden(MwArena *arena, const int64_t *cost, int64_t count)
{
    int64_t *only = MW_NEW(arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        only[i] = cost[i] < MW_COST_INFINITE ? 0 : MW_COST_INFINITE;
    return only;
}

MwProblem *mw_usage_problem(MwArena *arena, const MwProblem *problem, int64_t time)
{
    MwProblem *usage = mw_arena_dup(arena, problem, sizeof *problem);
    usage->usage_limit = MW_USAGE_UNLIMITED;
    usage->nodes = MW_NEW(arena, MwProblemNode, problem->node_count);
    usage->edges = MW_NEW(arena, MwProblemEdge, problem->edge_count);
    for (int i = 0; i < problem->node_count; i++) {
        usage->nodes[i] = problem->nodes[i];
        usage->nodes[i].cost = usage_costs(arena, &problem->nodes[i], time);
    }
    for (int i = 0; i < problem->edge_count; i++) {
        const MwProblemEdge *edge = &problem->edges[i];
        int64_t count = (int64_t)problem->nodes[edge->a].strategy_count *
                        problem->nodes[edge->b].strategy_count;
        usage->edges[i] = *edge;
        usage->edges[i].cost = only_forbidden(arena, edge->cost, count);
    }
    return usage;
}
