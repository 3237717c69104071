/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arc consistency of a bare problem (Mackworth, Consistency in networks of relations, Artificial
 * Intelligence 8, 1977, AC-3).
 *
 * A strategy that every strategy left of some neighbour is forbidden with is in no allowed choice.
 * It is taken away; then the edges of its node are looked at again. What is left at the end does
 * not depend on the order. */
#include "base/vec.h"
#include "solver/answer/bare.h"

typedef struct {
    MwProblem *bare;
    MwArena *scratch;
    int64_t **cost;    /* [node][strategy], to be changed */
    int **cause;       /* [node][strategy] edge; or NULL */
    int *first_edge;   /* [node + 1] where its edges begin in */
    int *edges;        /* [2 * edge_count] */
    bool *queued;      /* [edge] */
    MW_VEC(int) queue; /* edges to be looked at */
} Propagation;

static void index_edges(Propagation *p)
{
    const MwProblem *bare = p->bare;
    p->first_edge = MW_NEW(p->scratch, int, bare->node_count + 2);
    p->edges = MW_NEW(p->scratch, int, 2 * bare->edge_count);
    int *end = p->first_edge + 1;
    for (int i = 0; i < bare->edge_count; i++) {
        end[bare->edges[i].a + 1]++;
        end[bare->edges[i].b + 1]++;
    }
    for (int i = 0; i < bare->node_count; i++)
        end[i + 1] += end[i];
    for (int i = 0; i < bare->edge_count; i++) {
        p->edges[end[bare->edges[i].a]++] = i;
        p->edges[end[bare->edges[i].b]++] = i;
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

/* Whether strategy `s` of `node` goes with one that is left at the other end of the edge. */
static bool supported(const Propagation *p, const MwProblemEdge *edge, int node, int s)
{
    int other = node == edge->a ? edge->b : edge->a;
    int64_t columns = p->bare->nodes[edge->b].strategy_count;
    int64_t at = node == edge->a ? s * columns : s, step = node == edge->a ? 1 : columns;
    for (int t = 0; t < p->bare->nodes[other].strategy_count; t++, at += step)
        if (p->cost[other][t] < MW_COST_INFINITE && edge->cost[at] < MW_COST_INFINITE)
            return true;
    return false;
}

/* Strategies left; those without support go. */
static int revise(Propagation *p, int index, int node)
{
    const MwProblemEdge *edge = &p->bare->edges[index];
    int left = 0;
    bool changed = false;
    for (int s = 0; s < p->bare->nodes[node].strategy_count; s++) {
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
        if (revise(p, edge, p->bare->edges[edge].a) == 0)
            return p->bare->edges[edge].a;
        if (revise(p, edge, p->bare->edges[edge].b) == 0)
            return p->bare->edges[edge].b;
    }
    return -1;
}

/* A node without any allowed strategy from the beginning, or -1. */
static int copy_costs(MwArena *arena, Propagation *p)
{
    int none = -1;
    p->cost = MW_NEW(p->scratch, int64_t *, p->bare->node_count);
    for (int i = p->bare->node_count - 1; i >= 0; i--) {
        MwProblemNode *node = &p->bare->nodes[i];
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

static int **new_causes(MwArena *arena, const MwProblem *bare)
{
    int **cause = MW_NEW(arena, int *, bare->node_count);
    for (int i = 0; i < bare->node_count; i++) {
        cause[i] = MW_NEW(arena, int, bare->nodes[i].strategy_count);
        for (int s = 0; s < bare->nodes[i].strategy_count; s++)
            cause[i][s] = -1;
    }
    return cause;
}

int mw_bare_propagate(MwArena *arena, MwProblem *bare, int ***cause)
{
    Propagation p = {.bare = bare, .scratch = mw_arena_new()};
    if (cause)
        p.cause = *cause = new_causes(arena, bare);
    int empty = copy_costs(arena, &p);
    index_edges(&p);
    p.queued = MW_NEW(p.scratch, bool, bare->edge_count);
    for (int i = bare->edge_count - 1; i >= 0; i--) {
        p.queued[i] = true;
        mw_vec_push(p.scratch, &p.queue, i);
    }
    if (empty < 0)
        empty = run(&p);
    mw_arena_free(&p.scratch);
    return empty;
}
