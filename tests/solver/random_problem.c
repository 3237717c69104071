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

void make_thrifty(MwArena *arena, MwProblem *problem, uint64_t seed)
{
    uint64_t state = seed;
    for (int i = 0; i < problem->node_count; i++) {
        MwProblemNode *node = &problem->nodes[i];
        int64_t *cost = MW_NEW(arena, int64_t, node->strategy_count);
        for (int s = 0; node->usage && s < node->strategy_count; s++)
            cost[s] = 3 * (20 - node->usage[s]) + draw(&state, 4);
        node->cost = cost;
        node->begin = draw(&state, 2);
        node->end = 4 - draw(&state, 2);
    }
    problem->usage_limit = 7 * problem->node_count + draw(&state, 10);
}

/* All of `from` behind what `chain` has. */
static void append(MwProblem *chain, const MwProblem *from, int64_t time)
{
    const int first = chain->node_count;
    for (int i = 0; i < from->node_count; i++) {
        MwProblemNode node = from->nodes[i];
        node.begin += time;
        node.end += time;
        chain->nodes[chain->node_count++] = node;
    }
    for (int i = 0; i < from->edge_count; i++) {
        MwProblemEdge edge = from->edges[i];
        edge.a += first;
        edge.b += first;
        chain->edges[chain->edge_count++] = edge;
    }
    chain->usage_limit = mw_max(chain->usage_limit, from->usage_limit);
}

MwProblem *random_chain(MwArena *arena, int count, MwProblem *const *problems)
{
    enum { LONGEST = 20 }; /* no random problem lasts as long */
    MwProblem *chain = MW_NEW(arena, MwProblem, 1);
    int nodes = 0, edges = 0;
    for (int i = 0; i < count; i++) {
        nodes += problems[i]->node_count;
        edges += problems[i]->edge_count;
    }
    chain->name = "chain";
    chain->nodes = MW_NEW(arena, MwProblemNode, nodes);
    chain->edges = MW_NEW(arena, MwProblemEdge, edges);
    for (int i = 0; i < count; i++)
        append(chain, problems[i], (int64_t)LONGEST * i);
    return chain;
}

typedef struct {
    const MwProblem *problem;
    int *choice;
    Enumerated best;
} Search;

/* What choosing for `node` adds, given the nodes before it; -1: forbidden. */
static MwCost added_cost(const Search *search, int node)
{
    const MwProblem *problem = search->problem;
    MwCost cost = problem->nodes[node].cost[search->choice[node]];
    if (cost >= MW_COST_INFINITE)
        return -1;
    for (int i = 0; i < problem->edge_count; i++) {
        const MwProblemEdge *edge = &problem->edges[i];
        if (mw_max(edge->a, edge->b) != node)
            continue;
        int64_t columns = problem->nodes[edge->b].strategy_count;
        int64_t entry = edge->cost[search->choice[edge->a] * columns + search->choice[edge->b]];
        if (entry >= MW_COST_INFINITE)
            return -1;
        cost += entry;
    }
    return cost;
}

static void extend(Search *search, int node, MwCost cost)
{
    const MwProblem *problem = search->problem;
    if (search->best.possible && cost >= search->best.cost)
        return;
    if (node == problem->node_count) {
        int64_t time;
        if (mw_problem_peak(problem, search->choice, &time) <= problem->usage_limit)
            search->best = (Enumerated){true, cost};
        return;
    }
    for (int s = 0; s < problem->nodes[node].strategy_count; s++) {
        search->choice[node] = s;
        MwCost added = added_cost(search, node);
        if (added >= 0)
            extend(search, node + 1, cost + added);
    }
}

Enumerated enumerate(const MwProblem *problem)
{
    MwArena *arena = mw_arena_new();
    Search search = {.problem = problem, .choice = MW_NEW(arena, int, problem->node_count)};
    extend(&search, 0, 0);
    mw_arena_free(&arena);
    return search.best;
}
