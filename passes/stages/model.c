/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes a copy of the model through the passes between stages and split, with every layer a stage of
 * its own and the backward in two parts, and finds out which layers are alike.
 *
 * In:  the model before stages, and a number of micro-batches.
 * Out: MwStageModel.
 *
 * Two layers have the same class if their nodes agree one by one in operator and types, in which node
 * of the layer, or how many layers away, each operand is made, and in how far away each result is
 * used. What is made of constants alone, and what the update of all layers shares, counts as the
 * same wherever it is used. Intervals of layers of the same classes are the same graph, renamed. */
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
static MwStaging staging_of(const MwStageModel *model, bool recomputes)
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

static bool cut(MwStageModel *model, const MwCompilation *compilation, MwDiags *diags)
{
    MwCompilation *plain = &model->cut[false], *again = &model->cut[true];
    *plain = *compilation;
    plain->arena = model->arena;
    plain->graph = mw_graph_copy(model->arena, compilation->graph);
    plain->staging = staging_of(model, false);
    if (!mw_stage_lower_batching(plain, diags))
        return false;
    *again = *plain;
    again->staging = staging_of(model, true);
    return mw_stage_lower_remat(plain, diags) && mw_stage_lower_remat(again, diags);
}

/* ---- Which layers are alike ---- */

typedef struct {
    MwArena *scratch;
    const MwGraph *graph;
    MwKeyMap classes;
    const bool *is_free; /* [nodes] made of constants and the step number alone */
    int *place;          /* [nodes] position in its layer */
    int *import;         /* [values] as which the layer in hand, */
    int *importer;       /* [values] by its number plus 1, takes it */
    bool *leaves;        /* [values] the model */
    MW_VEC(int) * users; /* [values] nodes */
} Classifier;

static int layer_of(const Classifier *c, int node)
{
    return c->graph->nodes.at[node].origin.layer;
}

static void put(Classifier *c, MwKeyWords *key, int64_t word)
{
    mw_vec_push(c->scratch, key, word);
}

static int64_t pair(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a << 32 | (uint32_t)b);
}

enum { WITHIN, SHARED, IMPORTED, USED_LATE, USED, LEAVES, PINNED };

static void put_operand(Classifier *c, MwKeyWords *key, const MwNode *user, MwValueId value,
                        int *imports)
{
    int maker = mw_value(c->graph, value)->node.index, layer = user->origin.layer;
    const MwNode *node = &c->graph->nodes.at[maker];
    if (layer_of(c, maker) == layer) {
        put(c, key, pair(WITHIN, c->place[maker]));
        put(c, key, value.index - node->first_result);
        return;
    }
    if (c->is_free[maker] || node->phase == MW_PHASE_UPDATE) {
        put(c, key, pair(SHARED, value.index));
        return;
    }
    if (c->importer[value.index] != layer + 1) {
        c->importer[value.index] = layer + 1;
        c->import[value.index] = (*imports)++;
    }
    put(c, key, pair(IMPORTED, c->import[value.index]));
    put(c, key, layer_of(c, maker) - layer);
}

static void put_uses(Classifier *c, MwKeyWords *key, int value, int layer)
{
    for (int i = 0; i < c->users[value].count; i++) {
        const MwNode *user = &c->graph->nodes.at[c->users[value].at[i]];
        if (user->origin.layer == layer)
            continue;
        int64_t word = user->phase == MW_PHASE_UPDATE ? pair(USED_LATE, 0)
                                                      : pair(USED, user->origin.layer - layer);
        if (mw_vec_last(key) != word)
            put(c, key, word);
    }
    if (c->leaves[value])
        put(c, key, LEAVES);
}

static void put_node(Classifier *c, MwKeyWords *key, int n, int *imports)
{
    const MwNode *node = &c->graph->nodes.at[n];
    put(c, key, node->phase);
    mw_node_structure(c->scratch, key, c->graph, (MwNodeId){n});
    for (int k = 0; k < node->operand_count; k++)
        put_operand(c, key, node, node->operands[k], imports);
    for (int k = 0; k < node->result_count && !c->is_free[n]; k++)
        put_uses(c, key, node->first_result + k, node->origin.layer);
}

static void put_pin(Classifier *c, MwKeyWords *key, const MwPin *pin)
{
    put(c, key, pair(PINNED, c->place[mw_value(c->graph, pin->value)->node.index]));
    put(c, key, pair(pin->has_spec, pin->remat));
    put(c, key, (int64_t)pin->spec.bits);
}

static void look_at(Classifier *c)
{
    const MwGraph *graph = c->graph;
    int layers = mw_layer_count(graph), *count = MW_NEW(c->scratch, int, layers);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        c->place[n] = count[node->origin.layer]++;
        for (int k = 0; k < node->operand_count; k++)
            mw_vec_push(c->scratch, &c->users[node->operands[k].index], n);
    }
    for (int i = 0; i < graph->outputs.count; i++)
        c->leaves[graph->outputs.at[i].value.index] = true;
    for (int i = 0; i < graph->assigns.count; i++)
        c->leaves[graph->assigns.at[i].value.index] = true;
    if (mw_has_value(graph->train.loss))
        c->leaves[graph->train.loss.index] = true;
}

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
                    .is_free = mw_find_free_nodes(scratch, graph),
                    .place = MW_NEW(scratch, int, graph->nodes.count),
                    .import = MW_NEW(scratch, int, graph->values.count),
                    .importer = MW_NEW(scratch, int, graph->values.count),
                    .leaves = MW_NEW(scratch, bool, graph->values.count)};
    c.users = mw_arena_alloc(scratch, sizeof *c.users * (size_t)graph->values.count);
    look_at(&c);
    return c;
}

static void classify_layers(MwStageModel *model, Classifier *c)
{
    MwKeyWords *keys = MW_NEW(c->scratch, MwKeyWords, model->layer_count);
    int *imports = MW_NEW(c->scratch, int, model->layer_count);
    int *class = MW_NEW(model->arena, int, model->layer_count);
    for (int n = 0; n < c->graph->nodes.count; n++)
        put_node(c, &keys[layer_of(c, n)], n, &imports[layer_of(c, n)]);
    for (int i = 0; i < c->graph->pins.count; i++) {
        const MwPin *pin = &c->graph->pins.at[i];
        put_pin(c, &keys[mw_value_node(c->graph, pin->value)->origin.layer], pin);
    }
    for (int l = 0; l < model->layer_count; l++)
        class[l] = class_of(c, &keys[l]);
    model->layer_class = class;
}

/* An interval is that without its last layer, and that. */
static void classify_intervals(MwStageModel *model, Classifier *c)
{
    int layers = model->layer_count, width = layers + 1;
    int *class = MW_NEW(model->arena, int, width *width);
    c->classes = (MwKeyMap){0};
    for (int begin = 0; begin < layers; begin++)
        for (int end = begin + 1; end <= layers; end++) {
            MwKeyWords key = {0};
            put(c, &key, end == begin + 1 ? -1 : class[begin * width + end - 1]);
            put(c, &key, model->layer_class[end - 1]);
            class[begin * width + end] = class_of(c, &key);
        }
    model->interval_class = class;
    model->class_count = c->classes.count;
}

/* ---- What crosses between layers ---- */

static void add_to_border(MwStageModel *model, int layer, const MwCrossing *crossing)
{
    mw_vec_push(model->arena, &model->borders[layer][crossing->phase], crossing->tensor);
}

/* A value that several layers take goes no further than the farthest once. */
static void find_borders(MwStageModel *model)
{
    int count, layers = model->layer_count;
    const MwCrossing *crossings = mw_split_crossings(&model->cut[false], &count);
    model->borders = mw_arena_alloc(model->arena, sizeof *model->borders * (size_t)layers);
    const char **latest = MW_NEW(model->arena, const char *, layers);
    for (int i = 0; i < count; i++) {
        int low = (int)mw_min(crossings[i].from_stage, crossings[i].to_stage);
        int high = (int)mw_max(crossings[i].from_stage, crossings[i].to_stage);
        for (int l = low + 1; l <= high; l++) {
            if (latest[l] != crossings[i].name)
                add_to_border(model, l, &crossings[i]);
            latest[l] = crossings[i].name;
        }
    }
}

/* ---- All of it ---- */

MwStageModel *mw_stage_model_new(const MwCompilation *compilation, int micro_batches,
                                 MwDiags *diags)
{
    MwArena *arena = mw_arena_new();
    MwStageModel *model = MW_NEW(arena, MwStageModel, 1);
    model->arena = arena;
    model->micro_batches = micro_batches;
    model->layer_count = mw_layer_count(compilation->graph);
    if (!cut(model, compilation, diags)) {
        mw_arena_free(&arena);
        return NULL;
    }
    Classifier c = classifier_new(model->cut[false].graph);
    classify_layers(model, &c);
    classify_intervals(model, &c);
    mw_arena_free(&c.scratch);
    find_borders(model);
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

/* Stage 1 of three, of which the first and the last are what stands around it. */
MwGraph *mw_stage_model_graph(const MwStageModel *model, int begin, int end, bool recomputes)
{
    MwCompilation compilation = model->cut[recomputes];
    if (begin == 0 && end == model->layer_count)
        return mw_share(compilation.graph);
    int *stage = MW_NEW(model->arena, int, model->layer_count);
    for (int l = 0; l < model->layer_count; l++)
        stage[l] = l < begin ? 0 : l < end ? 1 : 2;
    compilation.staging.layer_stage = stage;
    compilation.staging.stage_count = compilation.staging.mesh_count = 3;
    return mw_share(mw_split_stage(&compilation, 1));
}
