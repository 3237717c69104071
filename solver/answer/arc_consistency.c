/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arc consistency (Mackworth, Consistency in networks of relations, Artificial Intelligence 8,
 * 1977, AC-3).
 *
 * A strategy has support at a neighbour if it may be combined with some strategy that the neighbour
 * has left. A strategy without support is in no allowed choice. It is removed, and the edges of its
 * node are queued again. The result does not depend on the order. */
#include "base/vec.h"
#include "solver/answer/hard_constraints.h"

typedef struct {
    MwProblem *hard;
    MwArena *scratch;
    int64_t **cost;    /* [node][strategy] costs, which propagation changes */
    int **cause;       /* [node][strategy] edge that removed the strategy; or NULL */
    int *first_edge;   /* [node + 1] first index in `edges` of the node's edges */
    int *edges;        /* [2 * edge_count] edge indices, grouped by node */
    bool *queued;      /* [edge] is in the queue */
    MW_VEC(int) queue; /* edges to revise */
} Propagation;

static void index_edges(Propagation *p)
{
    const MwProblem *hard = p->hard;
    p->first_edge = MW_NEW(p->scratch, int, hard->node_count + 2);
    p->edges = MW_NEW(p->scratch, int, 2 * hard->edge_count);
    int *end = p->first_edge + 1;
    for (int i = 0; i < hard->edge_count; i++) {
        end[hard->edges[i].a + 1]++;
        end[hard->edges[i].b + 1]++;
    }
    for (int i = 0; i < hard->node_count; i++)
        end[i + 1] += end[i];
    for (int i = 0; i < hard->edge_count; i++) {
        p->edges[end[hard->edges[i].a]++] = i;
        p->edges[end[hard->edges[i].b]++] = i;
    }
}

static void queue_edges_of(Propagation *p, int node)
{
    for (int i = p->first_edge[node]; i < p->first_edge[node + 1]; i++) {
        if (p->queued[p->edges[i]])
            continue;
        p->queued[p->edges[i]] = true;
        mw_vec_push(p->scratch, &p->queue, p->edges[i]);
    }
}

/* Says whether strategy `s` of `node` has support at the other end of the edge. */
static bool supported(const Propagation *p, const MwProblemEdge *edge, int node, int s)
{
    int other = node == edge->a ? edge->b : edge->a;
    int64_t columns = p->hard->nodes[edge->b].strategy_count;
    int64_t at = node == edge->a ? s * columns : s, step = node == edge->a ? 1 : columns;
    for (int t = 0; t < p->hard->nodes[other].strategy_count; t++, at += step)
        if (p->cost[other][t] < MW_COST_INFINITE && edge->cost[at] < MW_COST_INFINITE)
            return true;
    return false;
}

/* Removes the node's strategies without support on the edge. Returns the number of strategies
 * left. */
static int revise(Propagation *p, int index, int node)
{
    const MwProblemEdge *edge = &p->hard->edges[index];
    int left = 0;
    bool changed = false;
    for (int s = 0; s < p->hard->nodes[node].strategy_count; s++) {
        if (p->cost[node][s] >= MW_COST_INFINITE)
            continue;
        if (supported(p, edge, node, s)) {
            left++;
            continue;
        }
        p->cost[node][s] = MW_COST_INFINITE;
        if (p->cause)
            p->cause[node][s] = index;
        changed = true;
    }
    if (changed)
        queue_edges_of(p, node);
    return left;
}

static int run(Propagation *p)
{
    while (p->queue.count > 0) {
        int edge = p->queue.at[--p->queue.count];
        p->queued[edge] = false;
        if (revise(p, edge, p->hard->edges[edge].a) == 0)
            return p->hard->edges[edge].a;
        if (revise(p, edge, p->hard->edges[edge].b) == 0)
            return p->hard->edges[edge].b;
    }
    return -1;
}

/* Makes the costs writable. Returns a node that has no allowed strategy from the start, or -1. */
static int copy_costs(MwArena *arena, Propagation *p)
{
    int none = -1;
    p->cost = MW_NEW(p->scratch, int64_t *, p->hard->node_count);
    for (int i = p->hard->node_count - 1; i >= 0; i--) {
        MwProblemNode *node = &p->hard->nodes[i];
        int allowed = 0;
        p->cost[i] =
            mw_arena_dup(arena, node->cost, sizeof *node->cost * (size_t)node->strategy_count);
        node->cost = p->cost[i];
        for (int s = 0; s < node->strategy_count; s++)
            allowed += node->cost[s] < MW_COST_INFINITE;
        if (allowed == 0)
            none = i;
    }
    return none;
}

static int **new_causes(MwArena *arena, const MwProblem *hard)
{
    int **cause = MW_NEW(arena, int *, hard->node_count);
    for (int i = 0; i < hard->node_count; i++) {
        cause[i] = MW_NEW(arena, int, hard->nodes[i].strategy_count);
        for (int s = 0; s < hard->nodes[i].strategy_count; s++)
            cause[i][s] = -1;
    }
    return cause;
}

int mw_hard_propagate(MwArena *arena, MwProblem *hard, int ***cause)
{
    Propagation p = {.hard = hard, .scratch = mw_arena_new()};
    if (cause)
        p.cause = *cause = new_causes(arena, hard);
    int empty = copy_costs(arena, &p);
    index_edges(&p);
    p.queued = MW_NEW(p.scratch, bool, hard->edge_count);
    for (int i = hard->edge_count - 1; i >= 0; i--) {
        p.queued[i] = true;
        mw_vec_push(p.scratch, &p.queue, i);
    }
    if (empty < 0)
        empty = run(&p);
    mw_arena_free(&p.scratch);
    return empty;
}
