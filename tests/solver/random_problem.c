/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/solver/random_problem.h"

int64_t draw(uint64_t *state, int64_t bound)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int64_t)((z ^ (z >> 31)) % (uint64_t)bound);
}

static const int64_t *random_costs(MwArena *arena, const RandomKind *kind, int64_t count,
                                   uint64_t *state)
{
    int64_t *cost = MW_NEW(arena, int64_t, count);
    int64_t most = draw(state, 3) == 0 ? 3 : kind->greatest_cost;
    for (int64_t i = 0; i < count; i++) {
        cost[i] = draw(state, most);
        if (draw(state, 100) < kind->forbidden_percent)
            cost[i] = MW_COST_INFINITE + draw(state, 2);
    }
    return cost;
}

static void random_node(MwArena *arena, const RandomKind *kind, MwProblemNode *node,
                        uint64_t *state)
{
    node->strategy_count = 1 + (int)draw(state, kind->strategies);
    node->cost = random_costs(arena, kind, node->strategy_count, state);
    node->begin = draw(state, 8);
    node->end = node->begin + draw(state, 5);
    if (draw(state, 5) == 0)
        return;
    int64_t *usage = MW_NEW(arena, int64_t, node->strategy_count);
    bool constant = draw(state, 4) == 0;
    for (int s = 0; s < node->strategy_count; s++)
        usage[s] = constant && s > 0 ? usage[0] : draw(state, 20);
    node->usage = usage;
}

static void random_edge(MwArena *arena, const RandomKind *kind, MwProblem *problem,
                        MwProblemEdge *edge, uint64_t *state)
{
    edge->a = (int)draw(state, problem->node_count);
    edge->b = (int)((edge->a + 1 + draw(state, problem->node_count - 1)) % problem->node_count);
    int rows = problem->nodes[edge->a].strategy_count;
    int columns = problem->nodes[edge->b].strategy_count;
    int64_t *cost = (int64_t *)random_costs(arena, kind, rows * columns, state);
    edge->cost = cost;
    if (draw(state, 6) != 0)
        return;
    /* Separable. */
    for (int i = 1; i < rows; i++)
        for (int k = 1; k < columns; k++)
            cost[i * columns + k] = cost[i * columns] + cost[k];
    for (int k = 1; k < columns; k++)
        cost[k] += rows > 1 ? cost[0] : 0;
}

MwProblem *random_problem(MwArena *arena, const RandomKind *kind, uint64_t seed)
{
    uint64_t state = seed * 2654435761u + 1;
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    problem->name = "random";
    problem->node_count = 1 + (int)draw(&state, kind->nodes);
    problem->edge_count = problem->node_count > 1 ? (int)draw(&state, kind->edges + 1) : 0;
    problem->nodes = MW_NEW(arena, MwProblemNode, problem->node_count);
    problem->edges = MW_NEW(arena, MwProblemEdge, problem->edge_count);
    for (int i = 0; i < problem->node_count; i++)
        random_node(arena, kind, &problem->nodes[i], &state);
    for (int i = 0; i < problem->edge_count; i++)
        random_edge(arena, kind, problem, &problem->edges[i], &state);
    problem->usage_limit =
        kind->limited ? draw(&state, 10 * problem->node_count) : MW_USAGE_UNLIMITED;
    return problem;
}

/* The next choice in lexicographic order; false after the last. */
static bool advance(const MwProblem *problem, int *choice)
{
    for (int i = problem->node_count - 1; i >= 0; i--) {
        if (++choice[i] < problem->nodes[i].strategy_count)
            return true;
        choice[i] = 0;
    }
    return false;
}

Enumerated enumerate(const MwProblem *problem)
{
    MwArena *arena = mw_arena_new();
    int *choice = MW_NEW(arena, int, problem->node_count);
    Enumerated best = {0};
    do {
        int64_t time;
        if (!mw_problem_allows(problem, choice) ||
            mw_problem_peak(problem, choice, &time) > problem->usage_limit)
            continue;
        MwCost cost = mw_problem_cost(problem, choice);
        if (!best.possible || cost < best.cost)
            best = (Enumerated){true, cost};
    } while (advance(problem, choice));
    mw_arena_free(&arena);
    return best;
}
