/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/dist/random_layout.h"

#include "passes/graph/layers.h"
#include "passes/sharding/meshes.h"
#include "schedule/generate.h"
#include "tests/reference/spread.h"

/* `parts` numbers of at least 1 with the sum `total`. */
static int *cut(MwArena *arena, int total, int parts, uint64_t *random)
{
    int *sizes = MW_NEW(arena, int, parts);
    for (int i = 0; i < parts; i++)
        sizes[i] = 1;
    for (int i = parts; i < total; i++)
        sizes[random_below(random, parts)]++;
    return sizes;
}

static const MwSubmesh *draw_meshes(MwArena *arena, int devices, int count, uint64_t *random)
{
    MwSubmesh *meshes = MW_NEW(arena, MwSubmesh, count);
    const int *sizes = cut(arena, devices, count, random);
    int *order = MW_NEW(arena, int, count);
    for (int i = 0; i < count; i++) {
        const int at = random_below(random, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0, first = 0; i < count; first += sizes[order[i]], i++) {
        const MwMeshList shapes = mw_mesh_shapes(arena, sizes[order[i]]);
        meshes[order[i]] = (MwSubmesh){.first_device = first,
                                       .device_count = sizes[order[i]],
                                       .shape = shapes.at[random_below(random, shapes.count)]};
    }
    return meshes;
}

static const int *draw_stages(MwArena *arena, int layers, int stages, uint64_t *random)
{
    int *layer_stage = MW_NEW(arena, int, layers), layer = 0;
    const int *sizes = cut(arena, layers, stages, random);
    for (int s = 0; s < stages; s++)
        for (int i = 0; i < sizes[s]; i++)
            layer_stage[layer++] = s;
    return layer_stage;
}

/* None, all, or any. */
static const MwRematLevel *draw_remat(MwArena *arena, int layers, uint64_t *random)
{
    MwRematLevel *remat = MW_NEW(arena, MwRematLevel, layers);
    const int how = random_below(random, MW_REMAT_LEVELS + 1);
    for (int l = 0; l < layers; l++)
        remat[l] = how == MW_REMAT_LEVELS ? random_below(random, MW_REMAT_LEVELS) : how;
    return remat;
}

static int draw_micro_batches(const MwGraph *graph, uint64_t *random)
{
    int64_t batch = 1;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_INPUT)
            batch = mw_value_tensor(graph, mw_node_result(graph, (MwNodeId){n}, 0))->dim[0];
    int parts;
    do
        parts = 1 + random_below(random, (int)batch);
    while (batch % parts != 0);
    return parts;
}

static MwPipelineKind draw_kind(uint64_t *random)
{
    MwPipelineKind kind;
    do
        kind = (MwPipelineKind)random_below(random, MW_PIPELINE_COUNT);
    while (!mw_pipeline_info(kind)->trains);
    return kind;
}

void random_layout(MwCompilation *compilation, uint64_t *random)
{
    MwArena *arena = compilation->arena;
    const int devices = mw_cluster_devices(compilation->cluster);
    const int layers = mw_layer_count(compilation->graph);
    const int meshes = 1 + random_below(random, (int)mw_min(devices, layers));
    const MwPipelineKind kind = draw_kind(random);
    const int most_chunks = (int)mw_min(layers / meshes, mw_pipeline_most_chunks(kind));
    const int chunks = meshes > 1 ? 1 + random_below(random, most_chunks) : 1;
    const int stages = mw_pipeline_stages(kind, meshes, chunks);
    const int micro_batches = draw_micro_batches(compilation->graph, random);
    compilation->staging = (MwStaging){
        .stage_count = stages,
        .mesh_count = meshes,
        .meshes = draw_meshes(arena, devices, meshes, random),
        .layer_stage = draw_stages(arena, layers, stages, random),
        .layer_remat = draw_remat(arena, layers, random),
        .layer_count = layers,
        .micro_batches = micro_batches,
        .schedule = mw_pipeline_schedule_new(arena, kind, meshes, micro_batches, chunks)};
}

void random_layout_print(MwText *text, const MwStaging *staging)
{
    mw_text_printf(text, "%s, %d micro-batches", mw_pipeline_info(staging->schedule->kind)->name,
                   staging->micro_batches);
    for (int s = 0; s < staging->stage_count; s++) {
        const MwSubmesh *mesh = &staging->meshes[mw_staging_mesh(staging, s)];
        char shape[MW_MESH_TEXT_BYTES];
        int layers = 0, levels[MW_REMAT_LEVELS] = {0};
        for (int l = 0; l < staging->layer_count; l++) {
            layers += staging->layer_stage[l] == s;
            levels[staging->layer_remat[l]] += staging->layer_stage[l] == s;
        }
        mw_text_printf(text, ", %d layers (%d recomputed, %d selectively) on %s at %d", layers,
                       levels[MW_LAYER_RECOMPUTES], levels[MW_LAYER_SELECTIVE],
                       mw_mesh_text(&mesh->shape, shape), mesh->first_device);
    }
}
