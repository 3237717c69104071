/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/stages/classes.h"

#include "ir/key_map.h"
#include "passes/graph/layers.h"
#include "passes/sharding/share.h"
#include "passes/sharding/strategies.h"
#include "passes/stages/split.h"

typedef struct {
    MwArena *scratch;
    const MwGraph *graph;
    MwKeyMap classes;
    const bool *is_constant; /* [nodes] depends on constants and the step number alone */
    int *position;           /* [nodes] position in its layer */
    int *import_index;       /* [values] index among the imports of layer `importing_layer - 1` */
    int *importing_layer;    /* [values] 1 + the layer that imported it last */
    bool *is_model_output;   /* [values] is an output of the model */
    bool *is_shared;         /* [values] SHARING_LAYERS or more layers other than its own use it */
    MW_VEC(int) * users;     /* [values] nodes that use it */
} Classifier;

static int layer_of(const Classifier *c, int node)
{
    return c->graph->nodes.at[node].origin.layer;
}

static void push_word(Classifier *c, MwKeyWords *key, int64_t word)
{
    mw_vec_push(c->scratch, key, word);
}

static int64_t pair(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a << 32 | (uint32_t)b);
}

enum { FROM_SAME_LAYER, SHARED, FROM_OTHER_LAYER, USED_BY_UPDATE, USED, MODEL_OUTPUT, PINNED };

/* Appends to the key where an operand comes from: this layer, another layer, or a shared value. */
static void push_operand(Classifier *c, MwKeyWords *key, const MwNode *user, MwValueId value,
                         int *imports)
{
    int maker = mw_value(c->graph, value)->node.index, layer = user->origin.layer;
    const MwNode *node = &c->graph->nodes.at[maker];
    if (layer_of(c, maker) == layer) {
        push_word(c, key, pair(FROM_SAME_LAYER, c->position[maker]));
        push_word(c, key, value.index - node->first_result);
        return;
    }
    bool is_of_update = node->phase == MW_PHASE_UPDATE && c->users[value.index].count > 1;
    if (c->is_constant[maker] || is_of_update || c->is_shared[value.index]) {
        push_word(c, key, pair(SHARED, value.index));
        return;
    }
    if (c->importing_layer[value.index] != layer + 1) {
        c->importing_layer[value.index] = layer + 1;
        c->import_index[value.index] = (*imports)++;
    }
    push_word(c, key, pair(FROM_OTHER_LAYER, c->import_index[value.index]));
    push_word(c, key, layer_of(c, maker) - layer);
}

/* Appends to the key which other layers use a value. */
static void push_uses(Classifier *c, MwKeyWords *key, int value, int layer)
{
    for (int i = 0; i < c->users[value].count; i++) {
        const MwNode *user = &c->graph->nodes.at[c->users[value].at[i]];
        if (user->origin.layer == layer)
            continue;
        int64_t word = user->phase == MW_PHASE_UPDATE ? pair(USED_BY_UPDATE, 0)
                                                      : pair(USED, user->origin.layer - layer);
        if (mw_vec_last(key) != word)
            push_word(c, key, word);
    }
    if (c->is_model_output[value])
        push_word(c, key, MODEL_OUTPUT);
}

static void push_node(Classifier *c, MwKeyWords *key, int n, int *imports)
{
    const MwNode *node = &c->graph->nodes.at[n];
    push_word(c, key, node->phase);
    mw_node_structure(c->scratch, key, c->graph, (MwNodeId){n});
    for (int k = 0; k < node->operand_count; k++)
        push_operand(c, key, node, node->operands[k], imports);
    for (int k = 0; k < node->result_count && !c->is_constant[n]; k++)
        push_uses(c, key, node->first_result + k, node->origin.layer);
}

static void push_pin(Classifier *c, MwKeyWords *key, const MwPin *pin)
{
    push_word(c, key, pair(PINNED, c->position[mw_value(c->graph, pin->value)->node.index]));
    push_word(c, key, pair(pin->has_spec, pin->remat));
    push_word(c, key, pin->ring);
    push_word(c, key, (int64_t)pin->spec.bits);
}

/* Two users may be neighbours of the same kind in every layer, as those of a residual are. */
enum { SHARING_LAYERS = 3 };

/* Whether at least SHARING_LAYERS layers other than that of its maker use the value. */
static bool is_shared(const Classifier *c, int value)
{
    int own = layer_of(c, c->graph->values.at[value].node.index), count = 0;
    int layers[SHARING_LAYERS];
    for (int i = 0; i < c->users[value].count && count < SHARING_LAYERS; i++) {
        int layer = layer_of(c, c->users[value].at[i]);
        bool is_new = layer != own;
        for (int k = 0; k < count; k++)
            is_new &= layers[k] != layer;
        if (is_new)
            layers[count++] = layer;
    }
    return count == SHARING_LAYERS;
}

/* Fills the tables of positions, users, shared values and outputs. */
static void index_graph(Classifier *c)
{
    const MwGraph *graph = c->graph;
    int layers = mw_layer_count(graph), *count = MW_NEW(c->scratch, int, layers);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        c->position[n] = count[node->origin.layer]++;
        for (int k = 0; k < node->operand_count; k++)
            mw_vec_push(c->scratch, &c->users[node->operands[k].index], n);
    }
    for (int v = 0; v < graph->values.count; v++)
        c->is_shared[v] = is_shared(c, v);
    for (int i = 0; i < graph->outputs.count; i++)
        c->is_model_output[graph->outputs.at[i].value.index] = true;
    for (int i = 0; i < graph->assigns.count; i++)
        c->is_model_output[graph->assigns.at[i].value.index] = true;
    for (int i = 0; i < graph->metrics.count; i++)
        c->is_model_output[graph->metrics.at[i].value.index] = true;
}

/* The number of the class with this key, in order of first appearance. */
static int class_of(Classifier *c, const MwKeyWords *key)
{
    void **at = mw_key_map_at_words(c->scratch, &c->classes, key);
    if (!*at)
        *at = (void *)(intptr_t)c->classes.count;
    return (int)(intptr_t)*at - 1;
}

static Classifier classifier_new(const MwGraph *graph)
{
    MwArena *scratch = mw_arena_new();
    Classifier c = {.scratch = scratch,
                    .graph = graph,
                    .is_constant = mw_find_constant_nodes(scratch, graph),
                    .position = MW_NEW(scratch, int, graph->nodes.count),
                    .import_index = MW_NEW(scratch, int, graph->values.count),
                    .importing_layer = MW_NEW(scratch, int, graph->values.count),
                    .is_model_output = MW_NEW(scratch, bool, graph->values.count),
                    .is_shared = MW_NEW(scratch, bool, graph->values.count)};
    c.users = mw_arena_alloc(scratch, sizeof *c.users * (size_t)graph->values.count);
    index_graph(&c);
    return c;
}

const int *mw_layer_classes(MwArena *arena, const MwGraph *graph, int layers)
{
    Classifier c = classifier_new(graph);
    MwKeyWords *keys = MW_NEW(c.scratch, MwKeyWords, layers);
    int *imports = MW_NEW(c.scratch, int, layers), *class = MW_NEW(arena, int, layers);
    for (int n = 0; n < graph->nodes.count; n++)
        push_node(&c, &keys[layer_of(&c, n)], n, &imports[layer_of(&c, n)]);
    for (int i = 0; i < graph->pins.count; i++) {
        const MwPin *pin = &graph->pins.at[i];
        push_pin(&c, &keys[mw_value_node(graph, pin->value)->origin.layer], pin);
    }
    for (int l = 0; l < layers; l++)
        class[l] = class_of(&c, &keys[l]);
    mw_arena_free(&c.scratch);
    return class;
}
