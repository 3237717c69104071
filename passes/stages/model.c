/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a copy of the model through the passes between stages and split, with every layer a stage
 * of its own and the backward split, and finds the classes of layers.
 *
 * In:  the model before stages, and a number of micro-batches.
 * Out: MwStageModel.
 *
 * Long runs of equal layers are folded first (fold.h), so that the time that a model takes grows
 * with its different layers. Each step of the passes has an arena of its own: the graphs that they
 * make on the way are freed with it. */
#include "passes/stages/model.h"

#include "ir/key_map.h"
#include "ir/rewrite.h"
#include "passes/graph/layers.h"
#include "passes/sharding/share.h"
#include "passes/stages/classes.h"
#include "passes/stages/lower.h"
#include "passes/stages/split.h"

#include <string.h>

/* ---- The passes ---- */

/* Every layer is a stage. */
static MwStaging stage_per_layer(MwArena *arena, int layers, int micro_batches, MwRematLevel level)
{
    int *stage = MW_NEW(arena, int, layers);
    MwRematLevel *remat = MW_NEW(arena, MwRematLevel, layers);
    MwPipelineSchedule *schedule = MW_NEW(arena, MwPipelineSchedule, 1);
    *schedule = (MwPipelineSchedule){.kind = mw_pipeline_splitting(),
                                     .mesh_count = layers,
                                     .micro_batches = micro_batches,
                                     .chunks = 1};
    for (int l = 0; l < layers; l++) {
        stage[l] = l;
        remat[l] = level;
    }
    return (MwStaging){.stage_count = layers,
                       .mesh_count = layers,
                       .layer_stage = stage,
                       .layer_remat = remat,
                       .layer_count = layers,
                       .micro_batches = micro_batches,
                       .schedule = schedule};
}

/* Runs a step on the graph of `compilation`; the graph that it makes is in `arena`, and nothing
 * else is left of it. False after errors. */
static bool run_step(MwArena *arena, MwCompilation *compilation,
                     bool (*step)(MwCompilation *compilation, MwDiags *diags), MwDiags *diags)
{
    MwArena *scratch = mw_arena_new();
    compilation->arena = scratch;
    compilation->graph_arena = mw_arena_new_within(scratch);
    compilation->graph = mw_graph_copy(compilation->graph_arena, compilation->graph);
    const bool good = step(compilation, diags);
    if (good)
        compilation->graph = mw_graph_copy(arena, compilation->graph);
    compilation->arena = arena;
    compilation->graph_arena = NULL;
    mw_arena_free(&scratch);
    return good;
}

/* Lowers `graph`, which has so many layers, for every level of recomputation.
 * False after errors. */
static bool lower_copies(const MwStageModel *model, MwGraph *graph, int layers,
                         MwCompilation lowered[MW_REMAT_LEVELS], MwDiags *diags)
{
    MwArena *scratch = mw_arena_new();
    MwCompilation plain = *model->compilation;
    plain.graph = graph;
    plain.staging = stage_per_layer(model->arena, layers, model->micro_batches, MW_LAYER_KEEPS);
    bool good = run_step(scratch, &plain, mw_stage_lower_batching, diags);
    const MwRematLevel last = mw_max(mw_last_remat(&plain), MW_LAYER_RECOMPUTES);
    for (MwRematLevel level = 0; level <= last && good; level++) {
        lowered[level] = plain;
        lowered[level].staging = stage_per_layer(model->arena, layers, model->micro_batches, level);
        good = run_step(model->arena, &lowered[level], mw_stage_lower_remat, diags);
    }
    mw_arena_free(&scratch);
    return good;
}

/* ---- Classes of intervals ---- */

/* The class of an interval follows from the class of all but its last layer and that of the last
 * layer. */
static void classify_intervals(MwStageModel *model)
{
    MwArena *scratch = mw_arena_new();
    MwKeyMap classes = {0};
    int layers = model->layer_count, width = layers + 1;
    int *class = MW_NEW(model->arena, int, width *width);
    for (int begin = 0; begin < layers; begin++)
        for (int end = begin + 1; end <= layers; end++) {
            const int key[] = {end == begin + 1 ? -1 : class[begin * width + end - 1],
                               model -> layer_class[end - 1]};
            void **at = mw_key_map_at(scratch, &classes, key, sizeof key);
            if (!*at)
                *at = (void *)(intptr_t)classes.count;
            class[begin * width + end] = (int)(intptr_t)*at - 1;
        }
    model->interval_class = class;
    model->class_count = classes.count;
    mw_arena_free(&scratch);
}

/* Lowers the model, of which `fold` is a folded form, and classifies its layers. False after
 * errors. */
static bool lower(MwStageModel *model, const MwLayerFold *fold, MwDiags *diags)
{
    MwGraph *graph = fold->graph ? fold->graph : model->compilation->graph;
    if (!lower_copies(model, graph, fold->layer_count, model->lowered, diags))
        return false;
    model->fold = fold;
    model->folded_class =
        mw_layer_classes(model->arena, model->lowered[MW_LAYER_KEEPS].graph, fold->layer_count);
    return true;
}

/* Gives the layers of the model the classes and the numbers of nodes of those of the fold. */
static void unfold_layers(MwStageModel *model)
{
    const MwGraph *graph = model->lowered[MW_LAYER_KEEPS].graph;
    int *class = MW_NEW(model->arena, int, model->layer_count);
    int *nodes = MW_NEW(model->arena, int, model->layer_count);
    int *folded_nodes = MW_NEW(model->arena, int, model->fold->layer_count);
    for (int n = 0; n < graph->nodes.count; n++)
        folded_nodes[graph->nodes.at[n].origin.layer]++;
    for (int l = 0; l < model->layer_count; l++) {
        class[l] = model->folded_class[mw_layer_fold_of(model->fold, l)];
        nodes[l] = folded_nodes[mw_layer_fold_of(model->fold, l)];
    }
    model->layer_class = class;
    model->layer_nodes = nodes;
}

/* ---- Boundaries ---- */

typedef MwStageBoundary PhaseBoundaries[MW_PHASE_COUNT];

/* [folded layers] the boundary before each of them. A value that several layers use crosses each
 * boundary once. */
static PhaseBoundaries *find_folded_boundaries(const MwStageModel *model)
{
    int count, layers = model->fold->layer_count;
    const MwCrossing *crossings = mw_split_crossings(&model->lowered[MW_LAYER_KEEPS], &count);
    PhaseBoundaries *boundaries = MW_NEW(model->arena, PhaseBoundaries, layers);
    const char **latest = MW_NEW(model->arena, const char *, layers);
    for (int i = 0; i < count; i++) {
        const MwCrossing *crossing = &crossings[i];
        int low = (int)mw_min(crossing->from_stage, crossing->to_stage);
        int high = (int)mw_max(crossing->from_stage, crossing->to_stage);
        for (int l = low + 1; l <= high; l++) {
            if (latest[l] != crossing->name)
                mw_vec_push(model->arena, &boundaries[l][crossing->phase], crossing->tensor);
            latest[l] = crossing->name;
        }
    }
    return boundaries;
}

static void find_boundaries(MwStageModel *model)
{
    const PhaseBoundaries *folded = find_folded_boundaries(model);
    PhaseBoundaries *boundaries = MW_NEW(model->arena, PhaseBoundaries, model->layer_count);
    for (int l = 0; l < model->layer_count; l++)
        memcpy(boundaries[l], folded[mw_layer_fold_of(model->fold, l)], sizeof boundaries[l]);
    model->boundaries = boundaries;
}

/* ---- Construction ---- */

static MwLayerFold *no_fold(MwArena *arena, int layers)
{
    MwLayerFold *fold = MW_NEW(arena, MwLayerFold, 1);
    fold->layer_count = layers;
    return fold;
}

MwStageModel *mw_stage_model_new(const MwCompilation *compilation, const MwLayerFold *fold,
                                 int micro_batches, MwDiags *diags)
{
    MwArena *arena = mw_arena_new();
    MwStageModel *model = MW_NEW(arena, MwStageModel, 1);
    model->arena = arena;
    model->compilation = compilation;
    model->micro_batches = micro_batches;
    model->layer_count = mw_layer_count(compilation->graph);
    model->whole = MW_NEW(arena, MwWholeModel, 1);
    bool good = lower(model, fold ? fold : no_fold(arena, model->layer_count), diags);
    if (good && !mw_layer_fold_is_even(model->fold, model->folded_class))
        good = lower(model, no_fold(arena, model->layer_count), diags);
    if (!good) {
        mw_arena_free(&arena);
        return NULL;
    }
    unfold_layers(model);
    classify_intervals(model);
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

/* ---- Intervals ---- */

/* The first of the folded layers that have the classes of layers [begin, end); -1: there are none
 * such. */
static int find_folded(const MwStageModel *model, int begin, int end)
{
    for (int at = 0; at + end - begin <= model->fold->layer_count; at++) {
        int l = begin;
        while (l < end && model->folded_class[at + l - begin] == model->layer_class[l])
            l++;
        if (l == end)
            return at;
    }
    return -1;
}

/* The model lowered without a fold, for intervals that the fold has not. */
static const MwCompilation *whole_of(const MwStageModel *model)
{
    if (!model->whole->is_made) {
        const bool good = lower_copies(model, model->compilation->graph, model->layer_count,
                                       model->whole->lowered, mw_diags_new(model->arena));
        MW_ASSERT(good); /* the same passes succeeded on the folded model */
        model->whole->is_made = true;
    }
    return model->whole->lowered;
}

/* Splits a model into three stages and returns the middle one. The split works on all of the
 * model, so its memory is freed at once. */
static MwGraph *cut_out(MwArena *arena, MwCompilation compilation, int begin, int end)
{
    const int layers = compilation.staging.layer_count;
    if (begin == 0 && end == layers)
        return mw_share_of(&compilation, compilation.graph);
    MwArena *scratch = mw_arena_new();
    MwGraph whole = *compilation.graph;
    int *stage = MW_NEW(scratch, int, layers);
    for (int l = 0; l < layers; l++)
        stage[l] = l < begin ? 0 : l < end ? 1 : 2;
    whole.arena = scratch;
    compilation.graph = &whole;
    compilation.staging.layer_stage = stage;
    compilation.staging.stage_count = compilation.staging.mesh_count = 3;
    MwGraph *graph =
        mw_graph_copy(arena, mw_share_of(&compilation, mw_split_stage(&compilation, 1)));
    mw_arena_free(&scratch);
    return graph;
}

MwStageGraph mw_stage_model_graph(const MwStageModel *model, int begin, int end, MwRematLevel remat)
{
    const int at = find_folded(model, begin, end), first = at >= 0 ? at : begin;
    const MwCompilation *lowered = at >= 0 ? model->lowered : whole_of(model);
    return (MwStageGraph){cut_out(model->arena, lowered[remat], first, first + end - begin), first};
}
