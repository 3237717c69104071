/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network of a layer has a vertex for each of its nodes, on the side of the sink where the
 * backward runs the node again, and one for each value, on the side of the sink where the backward
 * has it. A value that the backward has, of a node that it does not run, is kept: that arc is
 * cut. */
#include "passes/graph/remat_cut.h"

#include "solver/cut.h"

#include <math.h>

enum { SOURCE, SINK, FIRST };

/* What arithmetic counts in selective layers: so little that it decides only between cuts of as
 * many bytes. */
static const double SELECTIVE_WORK = 1e-3;

/* What is known of a value of the forward. */
typedef struct {
    bool is_used;   /* by the backward */
    bool is_taken;  /* a call of the backward takes it from memory */
    bool is_there;  /* the backward has it in memory in any case */
    bool is_stored; /* the forward stores it for itself */
} Use;

typedef struct {
    const MwGraph *graph;
    const MwStaging *staging;
    bool *may; /* [values] what the backward may make again */
    bool *recomputed;
    double flop_bytes; /* bytes that the device moves while it computes one FLOP */
    Use *uses;         /* [values] */
    int *value_vertex; /* [values] in the network of the layer; 0: none yet */
    MwCutArcs arcs;
    int vertices;
} Network;

static bool is_element_wise(const MwNode *node)
{
    const MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_REDUCE || lowering == MW_LOWER_ROWS ||
           lowering == MW_LOWER_GATHER;
}

static bool is_view(const MwNode *node)
{
    return mw_op_info(node->op)->lowering == MW_LOWER_VIEW;
}

static bool runs_backward(const MwNode *node)
{
    return node->phase == MW_PHASE_BACKWARD || node->phase == MW_PHASE_BACKWARD_WEIGHT;
}

/* Whether the layer of the node is selective. */
static bool is_selective(const Network *w, const MwNode *node)
{
    const MwRematLevel level = mw_staging_remat(w->staging, node);
    return level == MW_LAYER_SELECTIVE || level == MW_LAYER_STREAMS;
}

static bool makes_selective(const Network *w, int value)
{
    return is_selective(w, mw_value_node(w->graph, (MwValueId){value}));
}

/* ---- What may be made again ---- */

static int64_t elements_of(const MwGraph *graph, MwValueId value)
{
    return mw_tensor_elements(mw_value_tensor(graph, value));
}

/* Whether the node is a view, or element-wise with at most one operand as large as its result. A
 * sum of two large values is better kept than both of them loaded, and a chain of such sums, as
 * residual connections are, would be made again as a whole. */
static bool is_link(const MwGraph *graph, const MwNode *node)
{
    const int64_t elements = elements_of(graph, (MwValueId){node->first_result});
    MwValueId large = mw_no_value();
    if (mw_op_info(node->op)->lowering != MW_LOWER_MAP || node->result_count > 1)
        return is_view(node);
    for (int k = 0; k < node->operand_count; k++) {
        if (elements_of(graph, node->operands[k]) < elements)
            continue;
        if (mw_has_value(large) && !mw_value_equal(large, node->operands[k]))
            return false;
        large = node->operands[k];
    }
    return true;
}

/* Whether a selective layer makes what the node gives again. */
static bool is_light(const MwNode *node)
{
    const MwLowering lowering = mw_op_info(node->op)->lowering;
    return lowering == MW_LOWER_VIEW || lowering == MW_LOWER_MAP || lowering == MW_LOWER_REDUCE ||
           lowering == MW_LOWER_ROWS || lowering == MW_LOWER_MOVE;
}

/* [values] those with `may` that are light, in selective layers, and in others results of links
 * that no user repeats along a dimension: whoever takes one of them can make it in passing. */
static bool *find_candidates(const Network *w, const bool *may)
{
    const MwGraph *graph = w->graph;
    bool *found = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const bool is_candidate = is_selective(w, node) ? is_light(node) : is_link(graph, node);
        for (int k = 0; k < node->result_count; k++)
            found[node->first_result + k] = may[node->first_result + k] && is_candidate;
        const int64_t points = elements_of(graph, (MwValueId){node->first_result});
        for (int k = 0; k < node->operand_count; k++)
            if (!makes_selective(w, node->operands[k].index))
                found[node->operands[k].index] &= elements_of(graph, node->operands[k]) >= points;
    }
    return found;
}

/* ---- Uses ---- */

static void note_use(Network *w, const MwNode *node, MwValueId value)
{
    Use *use = &w->uses[value.index];
    const bool is_call = !is_element_wise(node) && !is_view(node);
    if (runs_backward(node)) {
        use->is_used = true;
        use->is_taken |= is_call;
    }
    use->is_stored |= node->phase == MW_PHASE_FORWARD && is_call;
    for (int k = 0; k < node->result_count && is_view(node); k++) { /* they share the memory */
        use->is_taken |= w->uses[node->first_result + k].is_taken;
        use->is_there |= w->uses[node->first_result + k].is_there;
        use->is_stored |= w->uses[node->first_result + k].is_stored;
    }
}

/* What the forward makes by a call of its own stands in memory, and so do the sources. A product
 * does not count: it takes in what follows. */
static void note_maker(Network *w, const MwNode *node)
{
    const MwLowering lowering = mw_op_info(node->op)->lowering;
    for (int k = 0; k < node->result_count; k++) {
        const int v = node->first_result + k;
        Use *use = &w->uses[v];
        use->is_stored |= !is_element_wise(node) && !is_view(node) && lowering != MW_LOWER_CONTRACT;
        use->is_there |=
            lowering == MW_LOWER_SOURCE || (use->is_used && !w->may[v] && !w->recomputed[v]);
    }
}

static void find_uses(Network *w)
{
    for (int n = w->graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &w->graph->nodes.at[n];
        note_maker(w, node);
        for (int k = 0; k < node->operand_count; k++)
            note_use(w, node, node->operands[k]);
    }
}

/* ---- Arcs ---- */

static int64_t points_of(const MwGraph *graph, const MwNode *node)
{
    int64_t points = elements_of(graph, (MwValueId){node->first_result});
    for (int k = 0; k < node->operand_count; k++)
        points = mw_max(points, elements_of(graph, node->operands[k]));
    return points;
}

static bool is_kept(const Use *use)
{
    return use->is_taken || use->is_there;
}

/* In a selective layer the bytes that the backward keeps. In others those that it moves because it
 * has the value in memory: it loads it; the forward stores it for that alone; and what is kept for
 * that alone counts once more, as it takes the place of other values. */
static double keeping(const Network *w, int value)
{
    const Use *use = &w->uses[value];
    const double bytes = (double)mw_tensor_bytes(&w->graph->values.at[value].tensor);
    if (mw_op_is_generator(mw_value_node(w->graph, (MwValueId){value})->op))
        return 0;
    if (makes_selective(w, value))
        return use->is_there ? 0 : bytes;
    return bytes * (1 + !use->is_stored + !is_kept(use));
}

static void add_arc(Network *w, int from, int to, double weight)
{
    mw_vec_push(w->graph->arena, &w->arcs, ((MwCutArc){from, to, weight}));
}

/* Whether the backward may run the node of a value again. */
static bool may_run(const Network *w, int value)
{
    return w->recomputed[value] ||
           (w->may[value] && (makes_selective(w, value) || !w->uses[value].is_taken));
}

/* The vertex of a value. One that is not of the layer, or that is not made again, is kept where
 * the backward has it. */
static int vertex_of(Network *w, MwValueId value)
{
    int *vertex = &w->value_vertex[value.index];
    if (!*vertex) {
        *vertex = w->vertices++;
        add_arc(w, SOURCE, *vertex, keeping(w, value.index));
    }
    return *vertex;
}

/* Adds a node of the layer; returns its vertex. */
static int add_node(Network *w, const MwNode *node)
{
    const int own = w->vertices++;
    const double flops = mw_op_info(node->op)->flops_per_point * (double)points_of(w->graph, node);
    const double weight = is_selective(w, node) ? SELECTIVE_WORK : 1;
    add_arc(w, SOURCE, own, is_view(node) ? 0 : weight * flops * w->flop_bytes);
    for (int k = 0; k < node->operand_count; k++)
        add_arc(w, vertex_of(w, node->operands[k]), own, INFINITY);
    for (int k = 0; k < node->result_count; k++) {
        const int v = node->first_result + k;
        const bool always = is_view(node) || w->recomputed[v];
        w->value_vertex[v] = w->vertices++;
        add_arc(w, own, w->value_vertex[v], always ? INFINITY : keeping(w, v));
    }
    return own;
}

/* ---- Layers ---- */

typedef MW_VEC(int32_t) Nodes;

static void forget_vertices(Network *w, const MwNode *node)
{
    for (int k = 0; k < node->operand_count; k++)
        w->value_vertex[node->operands[k].index] = 0;
    for (int k = 0; k < node->result_count; k++)
        w->value_vertex[node->first_result + k] = 0;
}

/* Solves the network of the nodes of a layer, which are in the order of the graph. */
static void cut_layer(Network *w, const Nodes *layer)
{
    MwArena *arena = w->graph->arena;
    int *vertex = MW_NEW(arena, int, layer->count); /* of each node; 0: it is not run again */
    w->arcs.count = 0;
    w->vertices = FIRST;
    for (int i = 0; i < layer->count; i++) {
        const MwNode *node = &w->graph->nodes.at[layer->at[i]];
        vertex[i] = may_run(w, node->first_result) ? add_node(w, node) : 0;
        for (int k = 0; k < node->result_count; k++) {
            const MwValueId result = {node->first_result + k};
            const Use *use = &w->uses[result.index];
            if (use->is_used && (is_selective(w, node) ? !use->is_there : !is_kept(use)))
                add_arc(w, vertex_of(w, result), SINK, INFINITY);
        }
    }
    const bool *again = mw_min_cut(arena, &w->arcs, w->vertices, SOURCE, SINK);
    for (int i = 0; i < layer->count; i++) {
        const MwNode *node = &w->graph->nodes.at[layer->at[i]];
        bool makes = vertex[i] && again[vertex[i]];
        if (makes && is_view(node)) /* of what is kept, the view is too */
            makes = w->recomputed[node->operands[0].index];
        for (int k = 0; k < node->result_count; k++)
            w->recomputed[node->first_result + k] |= makes;
    }
    for (int i = 0; i < layer->count; i++)
        forget_vertices(w, &w->graph->nodes.at[layer->at[i]]);
}

void mw_remat_cut(const MwCompilation *compilation, const bool *may, bool cuts_all,
                  bool *recomputed)
{
    const MwGraph *graph = compilation->graph;
    Network w = {.graph = graph, .staging = &compilation->staging, .recomputed = recomputed};
    w.may = find_candidates(&w, may);
    if (compilation->cluster) {
        const MwDeviceModel *device = &compilation->cluster->device;
        const MwCurve *bandwidth = &device->bandwidth;
        w.flop_bytes = bandwidth->points[bandwidth->count - 1].value / device->vector_flops;
    }
    w.uses = MW_NEW(graph->arena, Use, graph->values.count);
    w.value_vertex = MW_NEW(graph->arena, int, graph->values.count);
    find_uses(&w);
    int layers = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        layers = (int)mw_max(layers, graph->nodes.at[n].origin.layer + 1);
    Nodes *nodes = MW_NEW(graph->arena, Nodes, layers);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const bool is_cut = is_selective(&w, node) ||
                            (cuts_all && mw_staging_remat(w.staging, node) == MW_LAYER_KEEPS);
        if (node->phase == MW_PHASE_FORWARD && is_cut)
            mw_vec_push(graph->arena, &nodes[node->origin.layer], n);
    }
    for (int i = 0; i < layers; i++)
        if (nodes[i].count)
            cut_layer(&w, &nodes[i]);
}
