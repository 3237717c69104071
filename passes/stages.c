/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inter-op pass: which layers form a stage, and on which devices.
 *
 * In:  the model with its layers, the cluster if there is one, the user's wishes.
 * Out: compilation->staging. */
#include "passes/layers.h"
#include "passes/pass.h"

static const MwSubmesh *cut_devices(MwArena *arena, int devices, int stages)
{
    MwSubmesh *meshes = MW_NEW(arena, MwSubmesh, stages);
    for (int i = 0; i < stages; i++)
        meshes[i] = (MwSubmesh){i * (devices / stages), devices / stages};
    return meshes;
}

static const int *cut_layers(MwArena *arena, int layers, int stages)
{
    int *stage = MW_NEW(arena, int, layers);
    for (int l = 0; l < layers; l++)
        stage[l] = (int)((int64_t)l * stages / layers);
    return stage;
}

/* Of each mesh, N stages if the schedule interleaves so many. */
static MwPipelineKind choose_kind(const MwCompilation *compilation)
{
    if (!mw_has_value(compilation->graph->train.loss))
        return MW_PIPELINE_INFERENCE;
    return compilation->options.has_schedule ? compilation->options.schedule : MW_PIPELINE_1F1B;
}

static int choose_micro_batches(const MwCompilation *compilation)
{
    int count = compilation->options.micro_batches;
    if (count == 0)
        count = compilation->graph->train.micro_batches;
    return (int)mw_max(count, 1);
}

static const bool *choose_remat(const MwCompilation *compilation, int layers)
{
    bool *remat = MW_NEW(compilation->arena, bool, layers);
    for (int l = 0; l < layers; l++)
        remat[l] = compilation->options.remat == MW_REMAT_ALL;
    return remat;
}

bool mw_pass_stages(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    MwArena *arena = compilation->arena;
    const MwCluster *cluster = compilation->cluster;
    int devices = cluster ? cluster->nodes * cluster->devices_per_node : 1;
    int meshes = (int)mw_max(compilation->options.stages, 1);
    int chunks = (int)mw_max(compilation->options.chunks, 1);
    int layers = mw_layer_count(compilation->graph),
        micro_batches = choose_micro_batches(compilation);
    compilation->staging =
        (MwStaging){.stage_count = meshes * chunks,
                    .mesh_count = meshes,
                    .meshes = cut_devices(arena, devices, meshes),
                    .layer_stage = cut_layers(arena, layers, meshes * chunks),
                    .layer_remat = choose_remat(compilation, layers),
                    .layer_count = layers,
                    .micro_batches = micro_batches,
                    .schedule = mw_pipeline_schedule_new(arena, choose_kind(compilation), meshes,
                                                         micro_batches, chunks)};
    return true;
}
