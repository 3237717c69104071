/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/cut.h"

#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* What GLPK takes: capacities in int, the sum of which no flow exceeds. */
static const double GREATEST_SUM = 1 << 30;

/* What GLPK's graph holds for us. */
typedef struct {
    double capacity;
} ArcData;
typedef struct {
    int is_source; /* on the side of the source */
} VertexData;

static double finite_sum(const MwCutArcs *arcs)
{
    double sum = 0;
    for (int i = 0; i < arcs->count; i++)
        sum += isinf(arcs->at[i].weight) ? 0 : arcs->at[i].weight;
    return sum;
}

static glp_graph *network(const MwCutArcs *arcs, int vertices)
{
    glp_graph *graph = glp_create_graph(sizeof(VertexData), sizeof(ArcData));
    const double sum = finite_sum(arcs), scale = sum > 0 ? GREATEST_SUM / sum : 0;
    glp_add_vertices(graph, vertices);
    for (int i = 0; i < arcs->count; i++) {
        const MwCutArc *arc = &arcs->at[i];
        glp_arc *made = glp_add_arc(graph, arc->from + 1, arc->to + 1);
        const ArcData data = {isinf(arc->weight) ? INT_MAX : floor(arc->weight * scale)};
        memcpy(made->data, &data, sizeof data);
    }
    return graph;
}

bool *mw_min_cut(MwArena *arena, const MwCutArcs *arcs, int vertices, int source, int sink)
{
    glp_graph *graph = network(arcs, vertices);
    bool *is_sink = MW_NEW(arena, bool, vertices);
    double flow;
    const int failed =
        glp_maxflow_ffalg(graph, source + 1, sink + 1, (int)offsetof(ArcData, capacity), &flow, -1,
                          (int)offsetof(VertexData, is_source));
    MW_ASSERT(!failed);
    for (int v = 0; v < vertices; v++) {
        VertexData data;
        memcpy(&data, graph->v[v + 1]->data, sizeof data);
        is_sink[v] = !data.is_source;
    }
    glp_delete_graph(graph);
    glp_free_env(); /* what GLPK keeps for a thread */
    return is_sink;
}
