/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a copy of the model through the passes between stages and split, with every layer a stage
 * of its own and the backward split, and finds the classes of layers.
 *
 * In:  the model before stages, and a number of micro-batches.
 * Out: MwStageModel.
 *
 * Two layers have the same class if their nodes agree one by one in operator and types, in the
 * position of each operand's maker in the layer or its distance in layers, and in the distance
 * of each result's users. Values that depend on constants alone, values of the update with several
 * users, and values that several other layers use (the weights of a recurrent network, what
 * an encoder gives to every layer of a decoder) count as the same wherever they are used.
 * Intervals of layers of the same classes are the same graph up to names. */
#include "passes/stages/model.h"

#include "ir/key_map.h"
#include "ir/rewrite.h"
#include "passes/graph/layers.h"
#include "passes/sharding/share.h"
#include "passes/sharding/strategies.h"
#include "passes/stages/lower.h"
#include "passes/stages/split.h"

/* ---- The passes ---- */

/* Every layer is a stage. */
static MwStaging stage_per_layer(const MwStageModel *model, bool recomputes)
{
    MwArena *arena = model->arena;
    int layers = model->layer_count, *stage = MW_NEW(arena, int, layers);
    bool *remat = MW_NEW(arena, bool, layers);
    MwPipelineSchedule *schedule = MW_NEW(arena, MwPipelineSchedule, 1);
    *schedule = (MwPipelineSchedule){.kind = mw_pipeline_splitting(),
                                     .mesh_count = layers,
                                     .micro_batches = model->micro_batches,
                                     .chunks = 1};
    for (int l = 0; l < layers; l++) {
        stage[l] = l;
        remat[l] = recomputes;
    }
    return (MwStaging){.stage_count = layers,
                       .mesh_count = layers,
                       .layer_stage = stage,
                       .layer_remat = remat,
                       .layer_count = layers,
                       .micro_batches = model->micro_batches,
                       .schedule = schedule};
}

/* Lowers the model twice, without and with recomputation; false after errors. */
static bool lower_copies(MwStageModel *model, const MwCompilation *compilation, MwDiags *diags)
{
    MwCompilation *plain = &model->lowered[false], *recomputing = &model->lowered[true];
    *plain = *compilation;
    plain->arena = model->arena;
    plain->graph = mw_graph_copy(model->arena, compilation->graph);
    plain->staging = stage_per_layer(model, false);
    if (!mw_stage_lower_batching(plain, diags))
        return false;
    *recomputing = *plain;
    recomputing->staging = stage_per_layer(model, true);
    return mw_stage_lower_remat(plain, diags) && mw_stage_lower_remat(recomputing, diags);
}

/* ---- Classes of layers ---- */

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

static void classify_layers(MwStageModel *model, Classifier *c)
{
    MwKeyWords *keys = MW_NEW(c->scratch, MwKeyWords, model->layer_count);
    int *imports = MW_NEW(c->scratch, int, model->layer_count);
    int *class = MW_NEW(model->arena, int, model->layer_count);
    for (int n = 0; n < c->graph->nodes.count; n++)
        push_node(c, &keys[layer_of(c, n)], n, &imports[layer_of(c, n)]);
    for (int i = 0; i < c->graph->pins.count; i++) {
        const MwPin *pin = &c->graph->pins.at[i];
        push_pin(c, &keys[mw_value_node(c->graph, pin->value)->origin.layer], pin);
    }
    for (int l = 0; l < model->layer_count; l++)
        class[l] = class_of(c, &keys[l]);
    model->layer_class = class;
}

/* The class of an interval follows from the class of all but its last layer and that of the last
 * layer. */
static void classify_intervals(MwStageModel *model, Classifier *c)
{
    int layers = model->layer_count, width = layers + 1;
    int *class = MW_NEW(model->arena, int, width *width);
    c->classes = (MwKeyMap){0};
    for (int begin = 0; begin < layers; begin++)
        for (int end = begin + 1; end <= layers; end++) {
            MwKeyWords key = {0};
            push_word(c, &key, end == begin + 1 ? -1 : class[begin * width + end - 1]);
            push_word(c, &key, model->layer_class[end - 1]);
            class[begin * width + end] = class_of(c, &key);
        }
    model->interval_class = class;
    model->class_count = c->classes.count;
}

/* ---- Boundaries ---- */

static void add_to_boundary(MwStageModel *model, int layer, const MwCrossing *crossing)
{
    mw_vec_push(model->arena, &model->boundaries[layer][crossing->phase], crossing->tensor);
}

/* A value that several layers use crosses each boundary once. */
static void find_boundaries(MwStageModel *model)
{
    int count, layers = model->layer_count;
    const MwCrossing *crossings = mw_split_crossings(&model->lowered[false], &count);
    model->boundaries = mw_arena_alloc(model->arena, sizeof *model->boundaries * (size_t)layers);
    const char **latest = MW_NEW(model->arena, const char *, layers);
    for (int i = 0; i < count; i++) {
        int low = (int)mw_min(crossings[i].from_stage, crossings[i].to_stage);
        int high = (int)mw_max(crossings[i].from_stage, crossings[i].to_stage);
        for (int l = low + 1; l <= high; l++) {
            if (latest[l] != crossings[i].name)
                add_to_boundary(model, l, &crossings[i]);
            latest[l] = crossings[i].name;
        }
    }
}

/* ---- Construction ---- */

MwStageModel *mw_stage_model_new(const MwCompilation *compilation, int micro_batches,
                                 MwDiags *diags)
{
    MwArena *arena = mw_arena_new();
    MwStageModel *model = MW_NEW(arena, MwStageModel, 1);
    model->arena = arena;
    model->micro_batches = micro_batches;
    model->layer_count = mw_layer_count(compilation->graph);
    if (!lower_copies(model, compilation, diags)) {
        mw_arena_free(&arena);
        return NULL;
    }
    Classifier c = classifier_new(model->lowered[false].graph);
    classify_layers(model, &c);
    classify_intervals(model, &c);
    mw_arena_free(&c.scratch);
    find_boundaries(model);
    return model;
}

void mw_stage_model_free(MwStageModel **model)
{
    if (*model) {
        MwArena *arena = (*model)->arena;
        mw_arena_free(&arena);
    }
    *model = NULL;
}

/* Splits the model into three stages and returns the middle one. The split works on all of the
 * model, so its memory is freed at once. */
MwGraph *mw_stage_model_graph(const MwStageModel *model, int begin, int end, bool recomputes)
{
    MwCompilation compilation = model->lowered[recomputes];
    if (begin == 0 && end == model->layer_count)
        return mw_share(compilation.graph);
    MwArena *scratch = mw_arena_new();
    MwGraph whole = *compilation.graph;
    int *stage = MW_NEW(scratch, int, model->layer_count);
    for (int l = 0; l < model->layer_count; l++)
        stage[l] = l < begin ? 0 : l < end ? 1 : 2;
    whole.arena = scratch;
    compilation.graph = &whole;
    compilation.staging.layer_stage = stage;
    compilation.staging.stage_count = compilation.staging.mesh_count = 3;
    MwGraph *graph = mw_graph_copy(model->arena, mw_share(mw_split_stage(&compilation, 1)));
    mw_arena_free(&scratch);
    return graph;
}
