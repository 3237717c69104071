/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes are fixed one after another in random order; after each, strategies of others that no
 * longer go with any strategy of a neighbour are struck out, until nothing changes (arc
 * consistency, Mackworth 1977, AC-3). Where a node loses its last strategy, all begins anew. */
#include "tests/reference/random_choice.h"

#include "tests/reference/spread.h"

#include <string.h>

typedef struct {
    MwArena *arena;
    const MwProblem *problem;
    int *first_edge, *edges; /* edges of node n: edges[first_edge[n]] .. before first_edge[n + 1] */
    bool **open;             /* [nodes][strategies] may still be chosen */
    int *queue;              /* of nodes whose strategies have become fewer */
    bool *queued;
    int queue_count;
} Search;

static void index_edges(Search *s)
{
    const MwProblem *p = s->problem;
    s->first_edge = MW_NEW(s->arena, int, p->node_count + 1);
    s->edges = MW_NEW(s->arena, int, 2 * p->edge_count + 1);
    int at = 0;
    for (int n = 0; n < p->node_count; n++) {
        s->first_edge[n] = at;
        for (int e = 0; e < p->edge_count; e++)
            if (p->edges[e].a == n || p->edges[e].b == n)
                s->edges[at++] = e;
    }
    s->first_edge[p->node_count] = at;
}

static void enqueue(Search *s, int node)
{
    if (!s->queued[node])
        s->queue[s->queue_count++] = node;
    s->queued[node] = true;
}

/* True if strategy `i` of the neighbour across `e` goes with a strategy of `node` still open. */
static bool has_support(const Search *s, const MwProblemEdge *e, int node, int i)
{
    int columns = s->problem->nodes[e->b].strategy_count;
    for (int k = 0; k < s->problem->nodes[node].strategy_count; k++) {
        int64_t cost = node == e->a ? e->cost[k * columns + i] : e->cost[i * columns + k];
        if (s->open[node][k] && cost < MW_COST_INFINITE)
            return true;
    }
    return false;
}

/* False if a neighbour has nothing left. */
static bool revise(Search *s, const MwProblemEdge *e, int node)
{
    int other = node == e->a ? e->b : e->a, left = 0;
    bool changed = false;
    for (int i = 0; i < s->problem->nodes[other].strategy_count; i++) {
        if (s->open[other][i] && !has_support(s, e, node, i)) {
            s->open[other][i] = false;
            changed = true;
        }
        left += s->open[other][i];
    }
    if (changed)
        enqueue(s, other);
    return left > 0;
}

static bool propagate(Search *s)
{
    while (s->queue_count) {
        int node = s->queue[--s->queue_count];
        s->queued[node] = false;
        for (int i = s->first_edge[node]; i < s->first_edge[node + 1]; i++)
            if (!revise(s, &s->problem->edges[s->edges[i]], node))
                return false;
    }
    return true;
}

static int pick(const Search *s, int node, uint64_t *random)
{
    int count = 0, chosen = -1;
    for (int i = 0; i < s->problem->nodes[node].strategy_count; i++)
        if (s->open[node][i] && random_below(random, ++count) == 0)
            chosen = i;
    return chosen;
}

static bool fix_all(Search *s, int *choice, uint64_t *random)
{
    const MwProblem *p = s->problem;
    int *order = MW_NEW(s->arena, int, p->node_count);
    s->queue_count = 0;
    memset(s->queued, 0, sizeof *s->queued * (size_t)p->node_count);
    for (int n = 0; n < p->node_count; n++) {
        for (int i = 0; i < p->nodes[n].strategy_count; i++)
            s->open[n][i] = p->nodes[n].cost[i] < MW_COST_INFINITE;
        enqueue(s, n);
        int at = random_below(random, n + 1);
        order[n] = order[at];
        order[at] = n;
    }
    if (!propagate(s))
        return false;
    for (int k = 0; k < p->node_count; k++) {
        int n = order[k];
        choice[n] = pick(s, n, random);
        for (int i = 0; i < p->nodes[n].strategy_count; i++)
            s->open[n][i] = i == choice[n];
        enqueue(s, n);
        if (!propagate(s))
            return false;
    }
    return true;
}

int *random_choice(MwArena *arena, const MwProblem *problem, uint64_t *random)
{
    enum { TRIES = 1000 };
    MwArena *scratch = mw_arena_new();
    Search s = {.arena = scratch, .problem = problem};
    index_edges(&s);
    s.queue = MW_NEW(scratch, int, problem->node_count);
    s.queued = MW_NEW(scratch, bool, problem->node_count);
    s.open = MW_NEW(scratch, bool *, problem->node_count);
    for (int n = 0; n < problem->node_count; n++)
        s.open[n] = MW_NEW(scratch, bool, problem->nodes[n].strategy_count);
    int *choice = MW_NEW(arena, int, problem->node_count);
    for (int i = 0; !fix_all(&s, choice, random); i++)
        MW_ASSERT(i < TRIES);
    mw_arena_free(&scratch);
    return choice;
}
