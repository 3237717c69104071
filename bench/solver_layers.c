/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A synthetic problem shaped like a transformer's training step: identical layers of forward,
 * backward, gradient and update nodes, a residual stream through the forward and one through the
 * backward pass, and every layer's forward nodes joined to its backward nodes.
 *
 * A strategy produces one spec of SPECS and asks for one on each input; an edge costs what
 * resharding from the one to the other does, times the size of its tensor. */
#include "bench/solver_layers.h"

#include "base/vec.h"

#include <stdio.h>

enum { SPECS = 12, FORWARD = 30, WEIGHTS = 8, MIDDLE = 14 };

typedef struct {
    MwArena *arena;
    uint64_t state;
    int64_t reshard[SPECS][SPECS];
    MW_VEC(MwProblemNode) nodes;
    MW_VEC(MwProblemEdge) edges;
    /* What all layers share, by place in the layer. */
    struct {
        int strategies;
        int64_t *cost, *usage;
        int *makes, *wants;
    } place[4 * FORWARD];
    int places;
} Layers;

static int64_t draw(Layers *layers, int64_t bound)
{
    uint64_t z = layers->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int64_t)((z ^ (z >> 31)) % (uint64_t)bound);
}

static void make_reshard(Layers *layers)
{
    for (int i = 0; i < SPECS; i++)
        for (int k = 0; k < SPECS; k++)
            layers->reshard[i][k] = i == k ? 0 : 100 + 100 * draw(layers, 20);
}

static void make_places(Layers *layers, int count)
{
    layers->places = count;
    for (int p = 0; p < count; p++) {
        int n = 10 + (int)draw(layers, 41);
        layers->place[p].strategies = n;
        layers->place[p].cost = MW_NEW(layers->arena, int64_t, n);
        layers->place[p].usage = MW_NEW(layers->arena, int64_t, n);
        layers->place[p].makes = MW_NEW(layers->arena, int, n);
        layers->place[p].wants = MW_NEW(layers->arena, int, n);
        for (int s = 0; s < n; s++) {
            layers->place[p].cost[s] = 1000 + draw(layers, 4000);
            layers->place[p].usage[s] = 1 << draw(layers, 6);
            layers->place[p].makes[s] = (int)draw(layers, SPECS);
            layers->place[p].wants[s] = (int)draw(layers, SPECS);
        }
    }
}

static int add_node(Layers *layers, int place, int64_t begin, int64_t end)
{
    mw_vec_push(layers->arena, &layers->nodes,
                ((MwProblemNode){.strategy_count = layers->place[place].strategies,
                                 .cost = layers->place[place].cost,
                                 .usage = layers->place[place].usage,
                                 .begin = begin,
                                 .end = end}));
    return layers->nodes.count - 1;
}

/* The tables are made anew for every layer, as a caller that shares no pointers would. */
static void add_edge(Layers *layers, int a, int place_a, int b, int place_b, int64_t size)
{
    int rows = layers->place[place_a].strategies, columns = layers->place[place_b].strategies;
    int64_t *cost = MW_NEW(layers->arena, int64_t, rows * columns);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < columns; k++)
            cost[i * columns + k] =
                size *
                layers->reshard[layers->place[place_a].makes[i]][layers->place[place_b].wants[k]];
    mw_vec_push(layers->arena, &layers->edges, ((MwProblemEdge){a, b, cost}));
}

/* Places: forward f at f, backward of f at FORWARD + f, then weights, gradients, updates. */
enum {
    BACKWARD_PLACE = FORWARD,
    WEIGHT_PLACE = 2 * FORWARD,
    GRADIENT_PLACE = WEIGHT_PLACE + WEIGHTS,
    UPDATE_PLACE = GRADIENT_PLACE + WEIGHTS,
    PLACES = UPDATE_PLACE + WEIGHTS
};

typedef struct {
    int forward[FORWARD], backward[FORWARD], weight[WEIGHTS];
} Layer;

static int weight_user(int weight)
{
    return 2 + 3 * weight;
}

static void add_forward(Layers *layers, Layer *layer, int l, int before, int64_t last)
{
    for (int w = 0; w < WEIGHTS; w++)
        layer->weight[w] = add_node(layers, WEIGHT_PLACE + w, 0, last);
    for (int f = 0; f < FORWARD; f++) {
        int64_t now = (int64_t)l * FORWARD + f;
        int node = add_node(layers, f, now, last - now);
        layer->forward[f] = node;
        int from = f ? layer->forward[f - 1] : before;
        if (from >= 0)
            add_edge(layers, from, f ? f - 1 : FORWARD - 1, node, f, 1 + f % 4);
        if (f == MIDDLE && before >= 0)
            add_edge(layers, before, FORWARD - 1, node, f, 1);
        if (f == FORWARD - 1)
            add_edge(layers, layer->forward[MIDDLE], MIDDLE, node, f, 1);
    }
    for (int w = 0; w < WEIGHTS; w++)
        add_edge(layers, layer->weight[w], WEIGHT_PLACE + w, layer->forward[weight_user(w)],
                 weight_user(w), 3);
}

/* `after`: the backward node that makes the gradient of this layer's result. */
static int add_backward(Layers *layers, Layer *layer, int l, int after, int64_t last)
{
    int first = after;
    for (int f = FORWARD - 1; f >= 0; f--) {
        int64_t now = last - ((int64_t)l * FORWARD + f);
        int place = BACKWARD_PLACE + f, node = add_node(layers, place, now, now + 2);
        layer->backward[f] = node;
        int from = f < FORWARD - 1 ? layer->backward[f + 1] : after;
        if (from >= 0)
            add_edge(layers, from, f < FORWARD - 1 ? place + 1 : BACKWARD_PLACE, node, place,
                     1 + f % 4);
        if (f)
            add_edge(layers, layer->forward[f - 1], f - 1, node, place, 1 + f % 4);
        if (f == MIDDLE && first >= 0)
            add_edge(layers, layer->backward[FORWARD - 1], BACKWARD_PLACE + FORWARD - 1, node,
                     place, 1);
        if (f == 0)
            add_edge(layers, layer->backward[MIDDLE], BACKWARD_PLACE + MIDDLE, node, place, 1);
    }
    for (int w = 0; w < WEIGHTS; w++) {
        int user = weight_user(w);
        int64_t now = last - ((int64_t)l * FORWARD + user);
        int gradient = add_node(layers, GRADIENT_PLACE + w, now, last + 10);
        int update = add_node(layers, UPDATE_PLACE + w, last + 1, last + 10);
        add_edge(layers, layer->backward[user + 1], BACKWARD_PLACE + user + 1, gradient,
                 GRADIENT_PLACE + w, 2);
        add_edge(layers, layer->forward[user - 1], user - 1, gradient, GRADIENT_PLACE + w, 2);
        add_edge(layers, layer->weight[w], WEIGHT_PLACE + w, layer->backward[user],
                 BACKWARD_PLACE + user, 3);
        add_edge(layers, gradient, GRADIENT_PLACE + w, update, UPDATE_PLACE + w, 3);
        add_edge(layers, layer->weight[w], WEIGHT_PLACE + w, update, UPDATE_PLACE + w, 3);
    }
    return layer->backward[0];
}

MwProblem *layered_problem(MwArena *arena, int layer_count, int64_t usage_limit)
{
    Layers *layers = MW_NEW(arena, Layers, 1);
    layers->arena = arena;
    layers->state = 1;
    make_reshard(layers);
    make_places(layers, PLACES);
    Layer *layer = MW_NEW(arena, Layer, layer_count);
    int64_t last = 2 * (int64_t)layer_count * FORWARD;
    int before = -1, after = -1;
    for (int l = 0; l < layer_count; l++) {
        add_forward(layers, &layer[l], l, before, last);
        before = layer[l].forward[FORWARD - 1];
    }
    for (int l = layer_count - 1; l >= 0; l--)
        after = add_backward(layers, &layer[l], l, after, last);
    MwProblem *problem = MW_NEW(arena, MwProblem, 1);
    *problem = (MwProblem){.name = mw_arena_printf(arena, "layers-%d", layer_count),
                           .node_count = layers->nodes.count,
                           .edge_count = layers->edges.count,
                           .nodes = layers->nodes.at,
                           .edges = layers->edges.at,
                           .usage_limit = usage_limit};
    return problem;
}
