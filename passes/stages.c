/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inter-op pass: which layers form a stage, and on which devices.
 *
 * In:  the model with its layers, the cluster if there is one, the user's wishes.
 * Out: compilation->staging. */
#include "passes/pass.h"

static int layer_count(const MwGraph *graph)
{
    int count = 1;
    for (int n = 0; n < graph->nodes.count; n++)
        count = (int)mw_max(count, graph->nodes.at[n].origin.layer + 1);
    return count;
}

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

static MwStageTasks gpipe(MwArena *arena, int stage, int micro_batches, bool trains)
{
    MwStageTasks tasks = {MW_NEW(arena, MwStageTask, 2 * micro_batches), 0};
    for (int phase = 0; phase <= trains; phase++)
        for (int m = 0; m < micro_batches; m++)
            tasks.at[tasks.count++] = (MwStageTask){stage, (MwPhase)phase, m};
    return tasks;
}

static MwStageTasks one_by_one(MwArena *arena, int micro_batches, bool trains)
{
    MwStageTasks tasks = {MW_NEW(arena, MwStageTask, 2 * micro_batches), 0};
    for (int m = 0; m < micro_batches; m++)
        for (int phase = 0; phase <= trains; phase++)
            tasks.at[tasks.count++] = (MwStageTask){0, (MwPhase)phase, m};
    return tasks;
}

bool mw_pass_stages(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    MwArena *arena = compilation->arena;
    const MwCluster *cluster = compilation->cluster;
    int devices = cluster ? cluster->nodes * cluster->devices_per_node : 1;
    int stages = (int)mw_max(compilation->options.stages, 1);
    int micro_batches = compilation->options.micro_batches;
    if (micro_batches == 0)
        micro_batches = compilation->graph->train.micro_batches;
    micro_batches = (int)mw_max(micro_batches, 1);
    bool trains = mw_has_value(compilation->graph->train.loss);
    MwStageTasks *tasks = MW_NEW(arena, MwStageTasks, stages);
    for (int s = 0; s < stages; s++)
        tasks[s] = stages == 1 ? one_by_one(arena, micro_batches, trains)
                               : gpipe(arena, s, micro_batches, trains);
    int layers = layer_count(compilation->graph);
    compilation->staging = (MwStaging){.stage_count = stages,
                                       .mesh_count = stages,
                                       .meshes = cut_devices(arena, devices, stages),
                                       .layer_stage = cut_layers(arena, layers, stages),
                                       .layer_count = layers,
                                       .micro_batches = micro_batches,
                                       .schedule = stages == 1 ? "none" : "gpipe",
                                       .tasks = tasks};
    return true;
}
